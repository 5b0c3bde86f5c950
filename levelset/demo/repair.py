"""Step: what somebody breaks by hand is put right: a deleted pod, a deleted PodSet, an edited field, a drained node."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from kube_runtime.api import ApiClient
from kube_runtime.resource import CONFIG_MAPS, PODS, is_deleting, uid_of
from levelset.demo import waiting, workload
from levelset.demo.errors import require
from levelset.demo.image import Images
from levelset.demo.narrator import Step
from levelset.demo.stage import NAMESPACE
from local_cluster.kubectl import Kubectl

_TIMEOUT_SECONDS = 90.0
_DRAIN_SECONDS = 90


async def play(api: ApiClient, kubectl: Kubectl, images: Images, step: Step) -> None:
    """Break four things, one after another, and say how long each repair took."""
    seconds = [
        await _measured(step, "a deleted pod", lambda: _delete_a_pod(api, images)),
        await _measured(step, "a deleted PodSet", lambda: _delete_the_pod_set(api, images)),
        await _measured(step, "an edited field", lambda: _edit_a_field(api, kubectl)),
        await _measured(step, "a drained node", lambda: _drain_a_node(api, kubectl, images, step)),
    ]
    pod, pod_set, field, node = (f"{s:.1f}" for s in seconds)
    step.summary = f"put right: pod {pod} s, PodSet {pod_set} s, edit {field} s, drain {node} s"


async def _measured(step: Step, what: str, repaired: Callable[[], Awaitable[None]]) -> float:
    began = time.monotonic()
    await repaired()
    seconds = time.monotonic() - began
    step.fact(what, f"put right after {seconds:.1f} s")
    return seconds


async def _level(api: ApiClient, images: Images, what: str) -> None:
    await waiting.until(
        what,
        lambda: workload.missing_for_level(api, images.second),
        timeout_seconds=_TIMEOUT_SECONDS,
    )


async def _delete_a_pod(api: ApiClient, images: Images) -> None:
    victim = next(p for p in await workload.pods(api) if not is_deleting(p))
    await api.delete(PODS, victim["metadata"]["name"], namespace=NAMESPACE, uid=uid_of(victim))
    await _level(api, images, "the pods after one was deleted")
    require(uid_of(victim) not in await workload.uids(api), "the deleted pod is still there")


async def _delete_the_pod_set(api: ApiClient, images: Images) -> None:
    """Delete the PodSet that runs; its pods go with it, and the Rollout makes it anew."""
    found = (await api.list(workload.POD_SETS, namespace=NAMESPACE)).items
    victim = next(s for s in found if s["spec"].get("replicas"))
    before = await workload.uids(api)
    await api.delete(
        workload.POD_SETS,
        victim["metadata"]["name"],
        namespace=NAMESPACE,
        uid=uid_of(victim),
        propagation_policy="Background",
    )

    async def look() -> str:
        sets = (await api.list(workload.POD_SETS, namespace=NAMESPACE)).items
        if uid_of(victim) in {uid_of(s) for s in sets}:
            return "the deleted PodSet is still going"
        # Until the garbage collector has come, all looks level; it learns of new kinds every 30 s.
        if left := before & {uid_of(pod) for pod in await workload.pods(api)}:
            return f"{len(left)} pods of the deleted PodSet are still there"
        return await workload.missing_for_level(api, images.second)

    await waiting.until(
        "the pods after their PodSet was deleted", look, timeout_seconds=_TIMEOUT_SECONDS
    )


async def _edit_a_field(api: ApiClient, kubectl: Kubectl) -> None:
    before = (await api.get(CONFIG_MAPS, "web", namespace=NAMESPACE))["data"]["greeting"]
    patch = '{"data": {"greeting": "edited by hand"}}'
    await asyncio.to_thread(
        kubectl, "patch", "configmap", "web", "-n", NAMESPACE, "--type=merge", "-p", patch
    )

    async def look() -> str:
        now = (await api.get(CONFIG_MAPS, "web", namespace=NAMESPACE))["data"]["greeting"]
        return "" if now == before else f"greeting is {now!r}"

    await waiting.until("the edited greeting", look, timeout_seconds=_TIMEOUT_SECONDS)


async def _drain_a_node(api: ApiClient, kubectl: Kubectl, images: Images, step: Step) -> None:
    """Drain a node that runs pods of the workload; they come up elsewhere."""
    node = max(p["spec"]["nodeName"] for p in await workload.pods(api))
    try:
        await asyncio.to_thread(
            kubectl,
            *("drain", node, "--ignore-daemonsets", "--delete-emptydir-data"),
            f"--timeout={_DRAIN_SECONDS}s",
            timeout_seconds=_DRAIN_SECONDS + 10,
        )
        await _level(api, images, f"the pods after {node} was drained")
        left = [p for p in await workload.pods(api) if p["spec"].get("nodeName") == node]
        require(not left, f"{len(left)} pods are still on the drained {node}")
    finally:
        await asyncio.to_thread(kubectl, "uncordon", node)
    nodes = sorted({p["spec"]["nodeName"] for p in await workload.pods(api)})
    step.fact(f"{node} drained", f"its pods run on {', '.join(nodes)}")
