"""What is done about one PodSet: tables."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads.pods import Pod
from workloads.podset.plan import BURST_REPLICAS, Plan, World, plan_pods
from workloads.podset.resources import PodSet

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = {"matchLabels": {"app": "web"}}


def podset(replicas: int, **facts: object) -> PodSet:
    made = PodSet(
        key=Key("default", "web"),
        uid=Uid("owner"),
        replicas=replicas,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template={"metadata": {"labels": {"app": "web"}}},
    )
    return replace(made, **facts)  # type: ignore[arg-type]  # facts by name


def pods(count: int, **facts: object) -> tuple[Pod, ...]:
    made = (Pod(name=f"web-{i}", uid=Uid(f"u{i}"), labels={"app": "web"}) for i in range(count))
    return tuple(replace(pod, **facts) for pod in made)  # type: ignore[arg-type]  # facts by name


def plan(world: World) -> Plan:
    return plan_pods(world, now=NOW, random_source=random.Random(1))


def test_missing_pods_are_made_under_new_names() -> None:
    decided = plan(World(podset(3), pods(1)))

    assert len(set(decided.create)) == 2
    assert all(name.startswith("web-") for name in decided.create)
    assert decided.delete == ()


def test_a_level_podset_needs_nothing() -> None:
    assert plan(World(podset(2), pods(2))) == Plan()
    assert not Plan().needs_owner


def test_superfluous_pods_are_deleted_the_worst_first() -> None:
    good = pods(2, node="n1", phase="Running", ready_since=NOW)
    bad = (Pod(name="bad", uid=Uid("bad"), labels={}),)

    assert plan(World(podset(2), good + bad)).delete == bad


def test_scaling_to_zero_deletes_all() -> None:
    assert plan(World(podset(0), pods(3))).delete == pods(3)


@pytest.mark.parametrize(
    "facts", [{"is_deleting": True}, {"phase": "Failed"}, {"phase": "Succeeded"}]
)
def test_pods_that_go_or_have_ended_are_replaced_and_left_alone(facts: dict[str, object]) -> None:
    decided = plan(World(podset(2), pods(2, **facts)))

    assert len(decided.create) == 2
    assert decided.delete == ()


def test_claims_come_before_the_count() -> None:
    orphan, stray = pods(2)

    decided = plan(World(podset(1), (orphan,), adopt=(orphan,), release=(stray,)))

    assert (decided.adopt, decided.release, decided.create) == ((orphan,), (stray,), ())
    assert decided.needs_owner


def test_adopted_pods_count_as_replicas() -> None:
    orphans = pods(2)

    assert plan(World(podset(2), orphans, adopt=orphans)).create == ()


def test_a_deleting_podset_neither_makes_nor_takes() -> None:
    orphan = pods(1)
    world = World(podset(5, is_deleting=True), orphan, adopt=orphan, release=orphan)

    assert plan(world) == Plan()


@pytest.mark.parametrize(("present", "wanted"), [(0, 5000), (1200, 0)])
def test_no_more_than_a_burst_at_once(present: int, wanted: int) -> None:
    decided = plan(World(podset(wanted), pods(present)))

    assert len(decided.create) + len(decided.delete) == BURST_REPLICAS


def test_it_looks_again_when_the_next_pod_becomes_available() -> None:
    ready = (
        *pods(1, ready_since=NOW - timedelta(seconds=4)),
        *pods(1, ready_since=NOW - timedelta(seconds=7)),
        *pods(1, ready_since=NOW - timedelta(seconds=11)),
        *pods(1),
    )

    assert plan(World(podset(4, min_ready_seconds=10), ready)).look_again_after == 3
    assert plan(World(podset(4), ready)).look_again_after is None
