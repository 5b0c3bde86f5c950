"""Availability, history and the many changes in a row of upstream's end-to-end tests."""

import asyncio
import random
from typing import Any

import pytest

from kube_runtime.resource import PODS, RESOURCE_QUOTAS
from tests.contract.workloads.parity.revisions import has_sizes, sizes
from tests.contract.workloads.world import World, template
from workloads.names import ROLLOUTS

pytestmark = pytest.mark.contract

LONG: dict[str, Any] = {"minReadySeconds": 3600, "progressDeadlineSeconds": 7200}


async def test_ready_pods_are_available_only_after_min_ready_seconds(live: World) -> None:
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    await live.rollout(4, strategy=strategy, **LONG)

    await live.has_status(ROLLOUTS, readyReplicas=4, availableReplicas=0, unavailableReplicas=4)
    available = await live.condition(ROLLOUTS, "Available")
    assert (available["status"], available["reason"]) == ("False", "MinimumReplicasUnavailable")
    await live.patch(ROLLOUTS, "web", {"spec": {"minReadySeconds": 0}})

    await live.is_complete(availableReplicas=4, unavailableReplicas=0)
    available = await live.condition(ROLLOUTS, "Available")
    assert (available["status"], available["reason"]) == ("True", "MinimumReplicasAvailable")


async def test_available_allows_for_max_unavailable(controlled: World) -> None:
    await controlled.rollout(3, strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}})
    pods = await controlled.has_pods(3)

    for pod in pods[:2]:
        await controlled.make_ready(pod)

    await controlled.has_status(ROLLOUTS, availableReplicas=2, unavailableReplicas=1)
    await controlled.has_condition(ROLLOUTS, "Available", "True")
    await controlled.has_condition(ROLLOUTS, "Ready", "False")


async def test_pods_of_the_template_that_become_unready_are_told(live: World) -> None:
    await live.rollout(2)
    await live.is_complete()
    (pod, *_) = await live.pods()

    await live.patch(
        PODS,
        pod["metadata"]["name"],
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        subresource="status",
    )

    await live.has_status(ROLLOUTS, readyReplicas=1, unavailableReplicas=1)
    ready = await live.condition(ROLLOUTS, "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodsUnavailable")
    progressing = await live.condition(ROLLOUTS, "Progressing")
    assert progressing["reason"] == "NewPodSetAvailable"


async def test_a_limit_of_0_keeps_no_old_revision(live: World) -> None:
    await live.rollout(1, revisionHistoryLimit=0)
    await live.is_complete()

    await live.set_image("web:2")

    await live.is_complete(revision=2)
    await has_sizes(live, v2=1)


async def test_a_paused_rollout_forgets_old_revisions_too(live: World) -> None:
    await live.rollout(1)
    for number in (1, 2, 3):
        await live.set_image(f"web:{number}")
        await live.is_complete(revision=number)

    await live.patch(ROLLOUTS, "web", {"spec": {"paused": True, "revisionHistoryLimit": 1}})

    await has_sizes(live, v2=0, v3=1)


async def test_shrinking_in_the_middle_of_a_rollout_keeps_what_is_available(
    controlled: World,
) -> None:
    kubelet = asyncio.create_task(controlled.run_kubelet())
    controlled.broken_images.add("web:2")
    await controlled.rollout(10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    await controlled.is_complete()
    await controlled.set_image("web:2")
    await has_sizes(controlled, v1=8, v2=5)

    await controlled.scale(ROLLOUTS, "web", 5)

    await has_sizes(controlled, v1=3, v2=5)
    await controlled.has_status(ROLLOUTS, availableReplicas=3)
    controlled.broken_images.clear()
    await controlled.is_complete(replicas=5, revision=2)
    kubelet.cancel()


async def test_growth_in_the_middle_of_a_rollout_waits_for_pods_that_are_going(
    controlled: World,
) -> None:
    await controlled.rollout(
        4,
        podReplacementPolicy="TerminationComplete",
        strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
    )
    for pod in await controlled.has_pods(4):
        await controlled.bind(pod)  # so that its deletion takes its time
        await controlled.make_ready(pod)
    await controlled.is_complete()
    await controlled.set_image("web:2")
    await has_sizes(controlled, v1=3, v2=1)
    await controlled.has_status(ROLLOUTS, replicas=4, terminatingReplicas=1)

    await controlled.scale(ROLLOUTS, "web", 8)

    async def wants(total: int) -> None:
        assert sum((await sizes(controlled)).values()) == total
        assert len(await controlled.all(PODS)) <= 9

    await controlled.eventually(lambda: wants(8))
    await controlled.stays(lambda: wants(8))
    await controlled.finish_terminations()
    await controlled.eventually(lambda: wants(9))


async def test_terminating_pods_of_all_revisions_are_summed_up(controlled: World) -> None:
    await controlled.rollout(2, strategy={"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}})
    for image in ("web:1", "web:2"):
        await controlled.set_image(image)
        pods = await controlled.has_pods(2 if image == "web:1" else 4)
        for pod in pods:
            if not pod["spec"].get("nodeName"):
                await controlled.bind(pod)  # so that its deletion takes its time
                await controlled.make_ready(pod)
        await controlled.has_pods(2)
    await controlled.has_status(ROLLOUTS, replicas=2, terminatingReplicas=2, updatedReplicas=2)
    (pod, *_) = await controlled.pods()

    await controlled.delete(PODS, pod["metadata"]["name"])

    await controlled.has_status(ROLLOUTS, replicas=2, terminatingReplicas=3)
    await controlled.finish_terminations()
    await controlled.has_status(ROLLOUTS, terminatingReplicas=0)


async def test_a_rollout_goes_on_when_its_quota_is_lifted(live: World) -> None:
    await live.rollout(1)
    await live.is_complete()
    quota = {"metadata": {"name": "one"}, "spec": {"hard": {"pods": "1"}}}
    await live.create(RESOURCE_QUOTAS, {"apiVersion": "v1", "kind": "ResourceQuota", **quota})
    body = {"status": {"hard": {"pods": "1"}, "used": {"pods": "1"}}}
    await live.patch(RESOURCE_QUOTAS, "one", body, subresource="status")

    await live.set_image("web:2")

    async def is_told() -> None:
        failure = await live.condition(ROLLOUTS, "ReplicaFailure")
        assert failure.get("reason") == "FailedCreate"
        await live.has_condition(ROLLOUTS, "Available", "True")

    await live.eventually(is_told)
    await live.delete(RESOURCE_QUOTAS, "one")
    await live.is_complete(revision=2)
    assert await live.condition(ROLLOUTS, "ReplicaFailure") == {}


async def test_many_changes_in_a_row_end_with_the_last(live: World) -> None:
    chance = random.Random(4)  # the same changes in every run
    await live.rollout(3)
    await live.is_complete()

    async def change() -> None:
        match chance.choice(["image", "size", "pause", "kill"]):
            case "image":
                await live.set_image(f"web:{chance.randint(1, 4)}")
            case "size":
                await live.scale(ROLLOUTS, "web", chance.randint(1, 6))
            case "pause":
                paused = {"spec": {"paused": chance.random() < 0.5}}
                await live.patch(ROLLOUTS, "web", paused)
            case _:
                for pod in (await live.pods())[:1]:
                    await live.delete(PODS, pod["metadata"]["name"])

    for _ in range(25):
        await change()
        await asyncio.sleep(chance.random() * 0.15)
    last = {"template": template("web:9"), "replicas": 4, "paused": False}
    await live.patch(ROLLOUTS, "web", {"spec": last})

    await live.is_complete(replicas=4, updatedReplicas=4)
    assert {size for image, size in (await sizes(live)).items() if image != "v9"} <= {0}
    assert {pod["spec"]["containers"][0]["image"] for pod in await live.pods()} == {"web:9"}
