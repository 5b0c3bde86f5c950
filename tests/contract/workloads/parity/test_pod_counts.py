"""What a PodSet's status says of its pods, and what it makes of those that go."""

from datetime import UTC, datetime, timedelta

import pytest

from kube_runtime.resource import PODS, Json
from tests.contract.workloads.world import World, template
from workloads.names import PODSETS, ROLLOUTS

pytestmark = pytest.mark.contract

HELD = {"metadata": {"finalizers": ["example.com/wait"]}}
LET_GO = {"metadata": {"finalizers": None}}


def name_of(obj: Json) -> str:
    name: str = obj["metadata"]["name"]
    return name


async def test_ready_and_available_pods_are_told_apart(controlled: World) -> None:
    await controlled.podset(3, minReadySeconds=3600)
    long_ready, just_ready, _ = await controlled.has_pods(3)

    await controlled.make_ready(long_ready, since=datetime.now(UTC) - timedelta(hours=2))
    await controlled.make_ready(just_ready)

    await controlled.has_status(PODSETS, replicas=3, readyReplicas=2, availableReplicas=1)


async def test_a_shorter_min_ready_makes_ready_pods_available_at_once(controlled: World) -> None:
    await controlled.podset(1, minReadySeconds=3600)
    (pod,) = await controlled.has_pods(1)
    await controlled.make_ready(pod)
    await controlled.has_status(PODSETS, readyReplicas=1, availableReplicas=0)

    await controlled.patch(PODSETS, "web", {"spec": {"minReadySeconds": 0}})

    await controlled.has_status(PODSETS, availableReplicas=1)


async def test_pods_follow_a_new_label_of_the_template_only_by_hand(controlled: World) -> None:
    await controlled.podset(2)
    pods = await controlled.has_pods(2)
    await controlled.has_status(PODSETS, fullyLabeledReplicas=2)

    await controlled.patch(PODSETS, "web", {"spec": {"template": template(tier="front")}})
    await controlled.has_status(PODSETS, replicas=2, fullyLabeledReplicas=0)
    labels = {"metadata": {"labels": {"tier": "front"}}}
    await controlled.patch(PODS, name_of(pods[0]), labels)

    await controlled.has_status(PODSETS, replicas=2, fullyLabeledReplicas=1)
    assert {name_of(pod) for pod in await controlled.pods()} == {name_of(pod) for pod in pods}


async def test_failed_and_deleted_pods_are_replaced_and_not_counted(controlled: World) -> None:
    await controlled.podset(2)
    failed, deleted = await controlled.has_pods(2)
    await controlled.patch(PODS, name_of(deleted), HELD)
    await controlled.make_ready(failed)  # what fails before it was ready is backed off from

    body = {"status": {"phase": "Failed"}}
    await controlled.patch(PODS, name_of(failed), body, subresource="status")
    await controlled.delete(PODS, name_of(deleted))

    try:

        async def two_others() -> None:
            active = {
                name_of(pod)
                for pod in await controlled.pods()
                if pod["status"]["phase"] != "Failed"
            }
            assert len(active) == 2
            assert not active & {name_of(failed), name_of(deleted)}

        await controlled.eventually(two_others)
        await controlled.has_status(PODSETS, replicas=2, terminatingReplicas=1)
    finally:
        await controlled.patch(PODS, name_of(deleted), LET_GO)
    await controlled.has_status(PODSETS, replicas=2, terminatingReplicas=0)


async def test_finalizers_of_the_template_are_on_its_pods(controlled: World) -> None:
    spec = template()
    spec["metadata"]["finalizers"] = HELD["metadata"]["finalizers"]
    await controlled.podset(1, template=spec)

    (pod,) = await controlled.has_pods(1)

    try:
        assert pod["metadata"]["finalizers"] == ["example.com/wait"]
    finally:
        await controlled.scale(PODSETS, "web", 0)
        await controlled.has_pods(0)
        await controlled.patch(PODS, name_of(pod), LET_GO)


async def test_creations_and_deletions_are_told_as_events(controlled: World) -> None:
    await controlled.podset(2)
    made = {name_of(pod) for pod in await controlled.has_pods(2)}

    await controlled.scale(PODSETS, "web", 1)
    kept = {name_of(pod) for pod in await controlled.has_pods(1)}

    async def are_told() -> None:
        created = await controlled.events("SuccessfulCreate")
        deleted = await controlled.events("SuccessfulDelete")
        assert set(created) == {f"Created pod: {name}" for name in made}
        assert deleted == [f"Deleted pod: {name}" for name in made - kept]

    await controlled.eventually(are_told)


async def test_of_equal_pods_one_beside_siblings_goes_first(controlled: World) -> None:
    await controlled.rollout(3)
    pods = await controlled.has_pods(3)
    since = datetime.now(UTC) - timedelta(hours=1)
    for pod, node in zip(pods, ("n1", "n1", "n2"), strict=True):
        await controlled.bind(pod, node)
        await controlled.make_ready(pod, since=since)
    await controlled.is_complete()

    await controlled.scale(ROLLOUTS, "web", 2)

    left = await controlled.has_pods(2)
    assert {pod["spec"]["nodeName"] for pod in left} == {"n1", "n2"}
    await controlled.finish_terminations()
