"""Reading the demo's workload: its pods, its Rollout, whether it stands as it should."""

from kube_runtime.api import ApiClient
from kube_runtime.resource import PODS, Json, Resource, Uid, is_deleting, uid_of
from levelset.demo.recorder import READY, phase_of
from levelset.demo.stage import NAMESPACE

ROLLOUTS = Resource("levelset.dev", "v1alpha1", "rollouts", "Rollout")
POD_SETS = Resource("levelset.dev", "v1alpha1", "podsets", "PodSet")
SELECTOR = "app.kubernetes.io/name=web"
REPLICAS = 4  # of the staging overlay


async def pods(api: ApiClient) -> list[Json]:
    """Return the workload's pods, also those that are leaving."""
    return (await api.list(PODS, namespace=NAMESPACE, label_selector=SELECTOR)).items


async def uids(api: ApiClient) -> frozenset[Uid]:
    """Return the UIDs of the pods that are not leaving."""
    return frozenset(uid_of(pod) for pod in await pods(api) if not is_deleting(pod))


async def missing_for_level(api: ApiClient, digest: str) -> str:
    """Say what is missing until exactly the wanted pods of this digest are ready; "" if nothing."""
    found = await pods(api)
    ready = [p for p in found if phase_of(p) == READY]
    right = [p for p in ready if p["spec"]["containers"][0]["image"].endswith(digest)]
    if len(right) == len(found) == REPLICAS:
        return ""
    waiting = [_why(pod) for pod in found if phase_of(pod) != READY]
    return f"{len(right)} of {REPLICAS} pods ready, {len(found)} in all; {' '.join(waiting)[:600]}"


def _why(pod: Json) -> str:
    status = pod.get("status", {})
    states = [s.get("state", {}) for s in status.get("containerStatuses", [])]
    reasons = [
        f"{kind.get('reason', '')} {kind.get('message', '')}".strip()
        for state in states
        for kind in state.values()
    ]
    conditions = [
        c.get("message", "") for c in status.get("conditions", []) if c["status"] != "True"
    ]
    name = pod["metadata"]["name"]
    return f"{name} {status.get('phase')}: {'; '.join([*reasons, *conditions][:2])}."
