"""Pods that cannot be made, cannot run or fail at once: never a hot loop, always a reason."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kube_runtime.api import PatchType
from kube_runtime.resource import NAMESPACES, PODS, RESOURCE_QUOTAS, Json
from tests.contract.workloads.world import World, image_of, running_controllers, template
from workloads.names import PODSETS, ROLLOUTS
from workloads.podset.backoff import EVIDENCE

pytestmark = pytest.mark.contract

REFUSAL: Json = {
    "phase": "Failed",
    "reason": "NodeAffinity",
    "message": "Pod was rejected: Predicate NodeAffinity failed",
}
BAD = "bad:1"


async def set_status(world: World, pod: Json, status: Json) -> None:
    body = {"status": status}
    await world.patch(PODS, pod["metadata"]["name"], body, subresource="status")


@asynccontextmanager
async def refusing_kubelet(world: World, image: str) -> AsyncIterator[None]:
    """Refuse every pod with this image as soon as it is there."""

    async def run() -> None:
        while True:
            for pod in await world.pods():
                if is_of(pod, image) and pod["status"].get("phase") != "Failed":
                    await set_status(world, pod, REFUSAL)
            await asyncio.sleep(0.05)

    task = asyncio.create_task(run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def is_of(pod: Json, image: str) -> bool:
    return bool(pod["spec"]["containers"][0]["image"] == image)


async def is_blocked(world: World, reason: str, text: str) -> None:
    async def check() -> None:
        blocked = (await world.status(PODSETS)).get("blockedBy", {})
        assert blocked.get("reason") == reason, await world.status(PODSETS)
        assert text in blocked["message"]
        assert blocked["since"]

    await world.eventually(check)


async def is_not_blocked(world: World) -> None:
    async def check() -> None:
        assert "blockedBy" not in await world.status(PODSETS)

    await world.eventually(check)


async def test_a_template_that_its_node_refuses_makes_few_pods_and_says_why(world: World) -> None:
    async with refusing_kubelet(world, BAD):
        async with running_controllers(world.api, world.namespace):
            await world.podset(3, template=template(BAD))
            await world.has_status(PODSETS, failedReplicas=4, replicas=0)

            failure = await world.condition(PODSETS, "ReplicaFailure")
            assert failure["reason"] == "PodsFailed"
            assert "NodeAffinity: Pod was rejected" in failure["message"]
            await is_blocked(world, "Admission", "NodeAffinity: Pod was rejected")
            before = await world.status(PODSETS)
            assert before["backoffUntil"]

        # What holds it back is in the cluster: another controller waits as long.
        async with running_controllers(world.api, world.namespace):
            await world.stays(lambda: world.has_pods(4), 2.0)
    assert (await world.status(PODSETS))["backoffUntil"] == before["backoffUntil"]


async def test_a_refusal_that_ends_is_forgotten(controlled: World) -> None:
    async with refusing_kubelet(controlled, "web:1"):
        await controlled.podset(2)
        await controlled.has_status(PODSETS, failedReplicas=2)

    async def tried_again() -> None:
        pods = [pod for pod in await controlled.pods() if pod["status"]["phase"] != "Failed"]
        assert pods
        for pod in pods:
            await controlled.make_ready(pod)

    await controlled.eventually(tried_again)
    await controlled.has_status(PODSETS, replicas=2, failedReplicas=0)
    await is_not_blocked(controlled)
    assert await controlled.condition(PODSETS, "ReplicaFailure") == {}


async def test_the_old_pods_stay_while_the_new_ones_are_refused(live: World) -> None:
    await live.rollout(2)
    await live.is_complete()
    old = {pod["metadata"]["name"] for pod in await live.pods()}
    live.broken_images.add(BAD)

    async with refusing_kubelet(live, BAD):
        await live.set_image(BAD)

        async def is_told() -> None:
            (podset,) = [each for each in await live.podsets() if image_of(each) == BAD]
            assert podset["status"]["blockedBy"]["reason"] == "Admission"

        await live.eventually(is_told)
        await live.stays(lambda: live.has_status(ROLLOUTS, availableReplicas=2))

    assert old <= {pod["metadata"]["name"] for pod in await live.pods()}


async def test_only_the_newest_ended_pods_are_kept(controlled: World) -> None:
    async with refusing_kubelet(controlled, "web:1"):
        await controlled.podset(EVIDENCE + 2)

        async def collected() -> None:
            pods = await controlled.pods()
            assert len([pod for pod in pods if pod["status"]["phase"] == "Failed"]) == EVIDENCE

        await controlled.has_status(PODSETS, replicas=0)
        await controlled.eventually(collected)


def waiting(reason: str) -> Json:
    state = {"waiting": {"reason": reason, "message": "the kubelet's words"}}
    entry = {
        "name": "web",
        "image": "web:1",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": state,
    }
    return {"phase": "Pending", "containerStatuses": [entry]}


UNSCHEDULABLE: Json = {
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/3 nodes: the scheduler's words",
        }
    ]
}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (waiting("ErrImagePull"), "ImagePull"),
        (waiting("CrashLoopBackOff"), "CrashLoop"),
        (UNSCHEDULABLE, "Unschedulable"),
    ],
)
async def test_what_keeps_a_pod_from_being_ready_is_told(
    controlled: World, status: Json, reason: str
) -> None:
    await controlled.podset(1)
    (pod,) = await controlled.has_pods(1)

    await set_status(controlled, pod, status)

    await is_blocked(controlled, reason, "words")
    assert (await controlled.status(PODSETS))["blockedBy"]["pod"] == pod["metadata"]["name"]
    body = {"status": {"containerStatuses": None}}
    await controlled.patch(PODS, pod["metadata"]["name"], body, subresource="status")
    await controlled.make_ready(pod)
    await is_not_blocked(controlled)


async def test_a_quota_blocks(controlled: World) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    await controlled.create(RESOURCE_QUOTAS, {"apiVersion": "v1", "kind": "ResourceQuota", **quota})
    body = {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}
    await controlled.patch(RESOURCE_QUOTAS, "none", body, subresource="status")

    await controlled.podset(2)

    await is_blocked(controlled, "Quota", "exceeded quota: none")
    assert (await controlled.status(PODSETS))["blockedBy"]["count"] == 2
    await controlled.delete(RESOURCE_QUOTAS, "none")
    await controlled.has_pods(2)
    await is_not_blocked(controlled)


async def test_admission_blocks(controlled: World) -> None:
    labels = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    await controlled.api.patch(NAMESPACES, controlled.namespace, labels, type=PatchType.MERGE)

    await controlled.podset(2)

    await is_blocked(controlled, "Admission", 'violates PodSecurity "restricted')
    assert await controlled.all(PODS) == []


def with_annotation(chars: int) -> Json:
    made = template()
    made["metadata"]["annotations"] = {"big": "x" * chars}
    return made


def with_port(port: int) -> Json:
    made = template()
    made["spec"]["containers"][0]["ports"] = [{"containerPort": port}]
    return made


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        (with_annotation(300_000), "metadata.annotations: Too long"),
        (with_port(70_000), "containers[0].ports[0].containerPort"),
    ],
)
async def test_a_template_that_makes_no_pod_is_told(
    controlled: World, broken: Json, text: str
) -> None:
    await controlled.podset(2, template=broken)

    await is_blocked(controlled, "TemplateInvalid", text)
    failure = await controlled.condition(PODSETS, "ReplicaFailure")
    assert failure["reason"] == "FailedCreate"
    assert text in failure["message"]
    assert await controlled.all(PODS) == []


async def test_what_is_added_to_a_pod_is_taken_by_the_api_server(controlled: World) -> None:
    await controlled.rollout(1)
    await controlled.podset(
        1, "drained", drainSeconds=7, defaults={"topologySpread": False}, **selecting("drained")
    )

    async def check() -> None:
        pods = await controlled.pods()
        by_app = {pod["metadata"]["labels"]["app"]: pod for pod in pods}
        drained = by_app["drained"]["spec"]
        assert drained["containers"][0]["lifecycle"] == {"preStop": {"sleep": {"seconds": 7}}}
        assert drained["terminationGracePeriodSeconds"] == 37
        assert "topologySpreadConstraints" not in drained
        constraints = by_app["web"]["spec"]["topologySpreadConstraints"]
        assert [each["matchLabelKeys"] for each in constraints] == [["pod-template-hash"]] * 2

    await controlled.eventually(check)


def selecting(app: str) -> dict[str, Any]:
    made = template()
    made["metadata"]["labels"] = {"app": app}
    return {"selector": {"matchLabels": {"app": app}}, "template": made}
