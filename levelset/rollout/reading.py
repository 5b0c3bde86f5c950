"""Reads a Rollout, its PodSets and its pods; says in one line what is not there."""

from kube_runtime import required_crds
from kube_runtime.api import ApiClient
from kube_runtime.errors import NotFound
from kube_runtime.resource import PODS, Json, Key, controller_uid_of, uid_of
from kube_runtime.selectors import LabelSelector
from levelset.rollout.errors import NoSuchRollout
from workloads import names


async def read(api: ApiClient, key: Key) -> Json:
    """Return the Rollout; raises NoSuchRollout, or what its kind lacks."""
    try:
        return await api.get(names.ROLLOUTS, key.name, namespace=key.namespace)
    except NotFound as error:
        await required_crds.check(api, [names.ROLLOUTS])
        raise NoSuchRollout(
            f'{names.ROLLOUTS} "{key.name}" not found in namespace {key.namespace!r}; '
            "give the namespace with -n, or list all with: kubectl get rollouts -A"
        ) from error


async def podsets_of(api: ApiClient, rollout: Json) -> list[Json]:
    """Return the PodSets that the Rollout controls."""
    listed = await api.list(
        names.PODSETS,
        namespace=Key.of(rollout).namespace,
        label_selector=selector_of(rollout),
    )
    return [podset for podset in listed.items if controller_uid_of(podset) == uid_of(rollout)]


async def pods_of(api: ApiClient, rollout: Json, podsets: list[Json]) -> list[Json]:
    """Return the pods that these PodSets control, terminating ones included."""
    listed = await api.list(
        PODS, namespace=Key.of(rollout).namespace, label_selector=selector_of(rollout)
    )
    owners = {uid_of(podset) for podset in podsets}
    return [pod for pod in listed.items if controller_uid_of(pod) in owners]


def selector_of(rollout: Json) -> str:
    """Write the Rollout's selector as a query; raises InvalidSelector."""
    return LabelSelector.parse(rollout["spec"].get("selector")).to_string()
