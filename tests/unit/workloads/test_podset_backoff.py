"""How long a PodSet waits when its pods fail before they were ever ready."""

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kube_runtime.clock import FakeClock
from kube_runtime.conditions import format_time
from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads.pods import Pod
from workloads.podset.backoff import (
    EVIDENCE,
    FIRST_DELAY,
    LONGEST_DELAY,
    NO_BACKOFF,
    PATIENCE,
    backoff_of,
    superfluous_evidence,
)
from workloads.podset.plan import World, plan_pods
from workloads.podset.resources import PodSet
from workloads.podset.server_clock import ServerClock

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def pod(name: str, seconds: float, **facts: object) -> Pod:
    made = Pod(name=name, uid=Uid(name), labels={}, created=at(seconds))
    return replace(made, **facts)  # type: ignore[arg-type]  # facts by name


def failed(name: str, seconds: float, **facts: object) -> Pod:
    return pod(name, seconds, phase="Failed", **facts)


def podset(replicas: int) -> PodSet:
    selector = {"matchLabels": {"app": "web"}}
    return PodSet(
        key=Key("ns", "web"),
        uid=Uid("owner"),
        replicas=replicas,
        selector=LabelSelector.parse(selector),
        raw_selector=selector,
        template={},
    )


def test_the_first_failure_is_waited_for_a_moment() -> None:
    backoff = backoff_of([failed("a", 0)], at(1))

    assert backoff.until == at(0) + FIRST_DELAY
    assert backoff.allowed(5, at(1)) == 0
    assert backoff.allowed(5, at(3)) == 1


def test_a_pod_that_ends_well_at_once_is_no_better() -> None:
    assert backoff_of([pod("a", 0, phase="Succeeded")], at(1)).until == at(3)


def test_the_wait_is_twice_as_long_as_it_has_been_failing() -> None:
    backoff = backoff_of([failed("a", 0), failed("b", 3), failed("c", 9)], at(10))

    assert backoff.until == at(9 + 18)
    assert [each.name for each in backoff.failed] == ["a", "b", "c"]


def test_the_wait_has_an_end() -> None:
    pods = [failed(str(number), number * 300) for number in range(5)]

    assert backoff_of(pods, at(1201)).until == at(1200) + LONGEST_DELAY


@pytest.mark.parametrize(
    "facts",
    [
        {"has_been_ready": True},
        {"is_disruption_target": True},
        {"is_deleting": True},
        {"created": None},
    ],
)
def test_pods_that_ended_otherwise_hold_nothing_back(facts: dict[str, object]) -> None:
    assert backoff_of([replace(failed("a", 0), **facts)], at(1)) == NO_BACKOFF  # type: ignore[arg-type]  # facts by name


def test_a_later_pod_that_is_ready_ends_it() -> None:
    ready = pod("b", 5, phase="Running", ready_since=at(6))

    assert backoff_of([failed("a", 0), ready], at(7)) == NO_BACKOFF
    assert backoff_of([failed("a", 9), ready], at(10)).failed


def test_a_failure_of_long_ago_is_forgotten() -> None:
    long_ago, lately = failed("a", 0), failed("b", 5000)

    assert backoff_of([long_ago], at(5000)) == NO_BACKOFF
    assert backoff_of([long_ago, lately], at(5001)).failed == (lately,)


def test_pods_that_take_their_time_are_followed_by_twice_as_many() -> None:
    one = [failed("a", 0), pod("b", 3)]
    two = [*one, pod("c", 23)]

    assert backoff_of(one, at(4)).until == at(3) + PATIENCE
    assert backoff_of(one, at(23)).allowed(9, at(23)) == 1
    assert backoff_of(two, at(43)).allowed(9, at(43)) == 2


def test_a_clock_that_is_behind_waits_no_hour() -> None:
    pods = [failed("a", 3600)]

    assert backoff_of(pods, at(0)).allowed(5, at(0)) == 1


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_is_off_is_put_right_by_the_next_pod(hours: int) -> None:
    fake = FakeClock(at(0))
    clock = ServerClock(fake)
    created = at(-3600 * hours)

    clock.saw_created({"metadata": {"creationTimestamp": format_time(created)}})
    assert clock.now() == created
    await fake.advance(60)
    assert clock.now() == created + timedelta(seconds=60)

    clock.saw_created({"metadata": {"creationTimestamp": format_time(at(59))}})
    assert clock.now() == at(60)
    clock.saw_created({"metadata": {}})
    assert clock.now() == at(60)


def test_a_plan_waits_says_when_it_looks_again_and_then_makes_one() -> None:
    world = World(podset(3), (failed("a", 0), failed("b", 0), failed("c", 0)))

    waiting = plan_pods(world, now=at(1), random_source=random.Random(1))
    trying = plan_pods(world, now=at(3), random_source=random.Random(1))

    assert (waiting.create, waiting.look_again_after) == ((), 2)
    assert waiting.backoff.until == at(3)
    assert (len(trying.create), trying.backoff.until) == (1, None)


def test_nobody_waits_for_pods_that_are_not_missing() -> None:
    world = World(podset(1), (failed("a", 0), pod("b", 0)))

    plan = plan_pods(world, now=at(1), random_source=random.Random(1))

    assert (plan.backoff.until, plan.look_again_after) == (None, None)
    assert len(plan.backoff.failed) == 1


def test_who_wants_no_pods_has_no_trouble_with_them() -> None:
    world = World(podset(0), (failed("a", 0),))

    assert plan_pods(world, now=at(1), random_source=random.Random(1)).backoff == NO_BACKOFF


def test_the_oldest_ended_pods_are_collected() -> None:
    ended = [failed(f"f{number:02}", number) for number in range(EVIDENCE + 2)]
    long_lived = failed("first", -500, ended=at(99), has_been_ready=True)

    collected = superfluous_evidence([*ended, long_lived, pod("active", 0)])

    assert [each.name for each in collected] == ["f00", "f01", "f02"]
    assert superfluous_evidence(ended[:EVIDENCE]) == ()
