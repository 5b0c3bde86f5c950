"""Which keys an event puts into the queues, and which expectations it fulfils."""

from typing import Any

import pytest

from kube_runtime.expectations import Expectations
from kube_runtime.resource import Json, Key, Uid
from kube_runtime.store import Store
from kube_runtime.workqueue import WorkQueue
from workloads.pods import parse_pod
from workloads.podset.slim import slim_pod
from workloads.podset.wakeups import PodSetWakeUps
from workloads.rollout.wakeups import RolloutWakeUps

WEB = Key("ns", "web")


def owner(name: str, uid: str, selector: Json | None = None) -> Json:
    return {
        "metadata": {"namespace": "ns", "name": name, "uid": uid},
        "spec": {"selector": selector or {"matchLabels": {"app": name}}},
    }


def owned(uid: str | None, *, name: str = "a", by: str = "web", **metadata: Any) -> Json:
    references = [{"apiVersion": "v", "kind": "K", "name": by, "uid": uid, "controller": True}]
    return {
        "metadata": {
            "namespace": "ns",
            "name": name,
            "uid": f"uid-{name}",
            "labels": {"app": "web"},
            **({"ownerReferences": references} if uid else {}),
            **metadata,
        }
    }


async def keys(queue: WorkQueue[Key]) -> list[str]:
    return [(await queue.get()).name for _ in range(queue.depth)]


@pytest.fixture
def podsets() -> PodSetWakeUps:
    store = Store()
    for each in (
        owner("web", "u1"),
        owner("other", "u2"),
        owner("broken", "u3", {"matchLabels": 5}),
    ):
        store.upsert(Key.of(each), each)
    return PodSetWakeUps(WorkQueue("test"), Expectations(), store)


@pytest.fixture
def rollouts() -> RolloutWakeUps:
    store = Store()
    store.upsert(WEB, owner("web", "u1"))
    return RolloutWakeUps(WorkQueue("test"), Expectations(), store)


async def test_a_new_pod_of_ours_fulfils_its_creation(podsets: PodSetWakeUps) -> None:
    podsets.expectations.expect_creations(WEB, ["a"])

    podsets.on_pod(None, owned("u1"))

    assert podsets.expectations.is_satisfied(WEB)
    assert await keys(podsets.queue) == ["web"]


async def test_a_pod_of_a_former_namesake_concerns_nobody(podsets: PodSetWakeUps) -> None:
    podsets.expectations.expect_creations(WEB, ["a"])

    podsets.on_pod(None, owned("u0"))

    assert not podsets.expectations.is_satisfied(WEB)
    assert podsets.queue.depth == 0


@pytest.mark.parametrize("is_gone", [True, False])
async def test_a_pod_that_goes_fulfils_its_deletion_once(
    podsets: PodSetWakeUps, *, is_gone: bool
) -> None:
    podsets.expectations.expect_deletions(WEB, [Uid("uid-a")])
    going = owned("u1", deletionTimestamp="2026-01-01T00:00:00Z")

    podsets.on_pod(owned("u1"), None if is_gone else going)

    assert podsets.expectations.is_satisfied(WEB)
    assert await keys(podsets.queue) == ["web"]


async def test_a_pod_first_seen_on_its_way_out_fulfils_its_creation(podsets: PodSetWakeUps) -> None:
    podsets.expectations.expect_creations(WEB, ["a"])

    podsets.on_pod(None, owned("u1", deletionTimestamp="2026-01-01T00:00:00Z"))

    assert podsets.expectations.is_satisfied(WEB)


async def test_an_orphan_wakes_whoever_selects_it(podsets: PodSetWakeUps) -> None:
    podsets.on_pod(None, owned(None))

    assert await keys(podsets.queue) == ["web"]


async def test_an_orphan_that_changed_in_nothing_that_matters_wakes_nobody(
    podsets: PodSetWakeUps,
) -> None:
    podsets.on_pod(owned(None), owned(None, annotations={"x": "y"}))

    assert podsets.queue.depth == 0


async def test_a_released_pod_wakes_its_former_owner_too(podsets: PodSetWakeUps) -> None:
    podsets.on_pod(owned("u2", by="other"), owned(None))

    assert sorted(await keys(podsets.queue)) == ["other", "web"]


async def test_a_podset_that_went_leaves_no_expectations(podsets: PodSetWakeUps) -> None:
    podsets.expectations.expect_creations(WEB, ["a"])

    podsets.on_podset(owner("web", "u1"), None)

    assert podsets.expectations.is_satisfied(WEB)
    assert await keys(podsets.queue) == ["web"]


async def test_a_podset_wakes_its_rollout_and_the_former_one(rollouts: RolloutWakeUps) -> None:
    rollouts.on_podset(owned("u1"), owned("u9", by="elsewhere"))
    assert await keys(rollouts.queue) == ["web"]


@pytest.mark.parametrize("event", [(None, "u1"), ("u1", "u1"), ("u1", None)])
async def test_a_podset_that_comes_changes_or_goes_wakes_its_rollout(
    rollouts: RolloutWakeUps, event: tuple[str | None, str | None]
) -> None:
    old, new = (owned(uid) if uid else None for uid in event)

    rollouts.on_podset(old, new)

    assert await keys(rollouts.queue) == ["web"]


async def test_an_orphaned_podset_wakes_whoever_selects_it(rollouts: RolloutWakeUps) -> None:
    rollouts.on_podset(None, owned(None))
    rollouts.on_podset(owned(None), owned(None))

    assert await keys(rollouts.queue) == ["web"]


async def test_a_rollout_wakes_itself(rollouts: RolloutWakeUps) -> None:
    rollouts.on_rollout(None, owner("web", "u1"))
    rollouts.on_rollout(owner("web", "u1"), None)
    rollouts.on_rollout(None, None)

    assert await keys(rollouts.queue) == ["web"]


def test_a_slim_pod_reads_as_the_whole_one() -> None:
    whole = owned(
        "u1",
        annotations={"controller.kubernetes.io/pod-deletion-cost": "3", "big": "x" * 1000},
        creationTimestamp="2026-01-01T00:00:00Z",
        managedFields=[{}],
    ) | {
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "c", "image": "i"}],
            "initContainers": [{"name": "s", "restartPolicy": "Always", "image": "i"}],
        },
        "status": {
            "phase": "Running",
            "podIP": "1.2.3.4",
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:01Z"},
            ],
            "containerStatuses": [{"name": "c", "restartCount": 2, "image": "i"}],
            "initContainerStatuses": [{"name": "s", "restartCount": 4, "image": "i"}],
        },
    }

    slim = slim_pod(whole)

    assert parse_pod(slim) == parse_pod(whole)
    assert len(str(slim)) < len(str(whole)) / 2
    assert parse_pod(slim_pod(owned("u1"))) == parse_pod(owned("u1"))
