"""How a Rollout's progress is told, step by step."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kube_runtime.conditions import Condition, find_condition, is_true
from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import InvalidSelector, LabelSelector
from workloads.podset.resources import PodSet, PodSetStatus
from workloads.rollout.fleet import Fleet
from workloads.rollout.resources import NO_DEADLINE, Rollout, RolloutStatus
from workloads.rollout.status import invalid_status, next_status, seconds_to_deadline

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = {"matchLabels": {"app": "web"}}
ROLLOUT = Rollout(
    key=Key("default", "web"),
    uid=Uid("owner"),
    replicas=3,
    selector=LabelSelector.parse(SELECTOR),
    raw_selector=SELECTOR,
    template={"spec": {}},
    progress_deadline_seconds=60,
)


def podset(
    name: str, count: int, *, available: int = 0, uid: str = "u", **status: object
) -> PodSet:
    counted = PodSetStatus(
        replicas=count,
        ready_replicas=available,
        available_replicas=available,
        **status,  # type: ignore[arg-type]  # by name
    )
    return PodSet(
        key=Key("default", name),
        uid=Uid(uid),
        replicas=count,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template={},
        annotations={"levelset.dev/revision": "4"},
        status=counted,
    )


def after(rollout: Rollout, fleet: Fleet, *, seconds: float = 0, **more: Any) -> Rollout:
    """Let the controller look once more; the Rollout comes back with its new status."""
    status = next_status(rollout, fleet, now=NOW + timedelta(seconds=seconds), **more)
    return replace(rollout, status=status)


def progressing(rollout: Rollout) -> tuple[str, str] | None:
    condition = find_condition(rollout.status.conditions, "Progressing")
    return (condition.status, condition.reason) if condition else None


def test_a_podset_that_is_planned_was_created() -> None:
    rollout = after(ROLLOUT, Fleet(podset("web-a", 0, uid="")))

    assert progressing(rollout) == ("True", "NewPodSetCreated")
    assert rollout.status.last_progress == NOW
    assert rollout.status.updated_podset == "web-a"


def test_a_podset_that_is_there_was_found() -> None:
    assert progressing(after(ROLLOUT, Fleet(podset("web-a", 1)))) == ("True", "FoundNewPodSet")


def test_without_a_new_podset_the_old_ones_are_waited_for() -> None:
    rollout = after(ROLLOUT, Fleet(None, (podset("web-a", 1),)))

    assert progressing(rollout) == ("True", "PodSetUpdated")
    assert rollout.status.revision == 0


@pytest.mark.parametrize(
    "fleet",
    [
        Fleet(podset("web-a", 2), (podset("web-0", 2),)),
        Fleet(podset("web-a", 1), (podset("web-0", 1),)),
        Fleet(podset("web-a", 1, available=1), (podset("web-0", 2),)),
    ],
    ids=["more updated", "fewer old", "more available"],
)
def test_each_kind_of_progress_sets_the_clock_back(fleet: Fleet) -> None:
    begun = after(ROLLOUT, Fleet(podset("web-a", 1), (podset("web-0", 2),)))

    moved = after(begun, fleet, seconds=30)

    assert progressing(moved) == ("True", "PodSetUpdated")
    assert moved.status.last_progress == NOW + timedelta(seconds=30)


def test_all_pods_new_and_available_is_complete() -> None:
    begun = after(ROLLOUT, Fleet(podset("web-a", 3)))

    done = after(begun, Fleet(podset("web-a", 3, available=3)))

    assert progressing(done) == ("True", "NewPodSetAvailable")
    assert is_true(done.status.conditions, "Ready")
    assert is_true(done.status.conditions, "Available")
    assert find_condition(done.status.conditions, "Reconciling") is None
    assert done.status.revision == 4


def test_pods_that_fail_after_the_end_are_no_failed_rollout() -> None:
    begun = after(ROLLOUT, Fleet(podset("web-a", 3)))
    done = after(begun, Fleet(podset("web-a", 3, available=3)))

    later = after(done, Fleet(podset("web-a", 3, available=1)), seconds=1000)

    assert progressing(later) == ("True", "NewPodSetAvailable")
    assert not is_true(later.status.conditions, "Ready")
    assert not is_true(later.status.conditions, "Available")
    assert later.status.unavailable_replicas == 2


def test_no_progress_until_the_deadline_is_a_failure_until_progress() -> None:
    begun = after(ROLLOUT, Fleet(podset("web-a", 1)))

    still = after(begun, Fleet(podset("web-a", 1)), seconds=60)
    late = after(still, Fleet(podset("web-a", 1)), seconds=61)
    again = after(late, Fleet(podset("web-a", 2)), seconds=62)

    assert progressing(still) == ("True", "FoundNewPodSet")
    assert progressing(late) == ("False", "ProgressDeadlineExceeded")
    assert is_true(late.status.conditions, "Stalled")
    assert progressing(again) == ("True", "PodSetUpdated")
    assert find_condition(again.status.conditions, "Stalled") is None


def test_another_target_begins_a_new_rollout() -> None:
    begun = after(ROLLOUT, Fleet(podset("web-a", 3)))
    done = after(begun, Fleet(podset("web-a", 3, available=3)))

    back = after(done, Fleet(podset("web-b", 0), (podset("web-a", 3, available=3),)), seconds=99)

    assert progressing(back) == ("True", "FoundNewPodSet")
    assert back.status.last_progress == NOW + timedelta(seconds=99)


def test_a_pause_is_told_and_stops_the_clock() -> None:
    begun = after(ROLLOUT, Fleet(podset("web-a", 1)))

    paused = after(replace(begun, is_paused=True), Fleet(podset("web-a", 1)), seconds=1000)
    resumed = after(replace(paused, is_paused=False), Fleet(podset("web-a", 1)), seconds=2000)

    assert progressing(paused) == ("Unknown", "RolloutPaused")
    assert progressing(resumed) == ("Unknown", "RolloutResumed")
    assert resumed.status.last_progress == NOW + timedelta(seconds=2000)


def test_a_pause_does_not_hide_a_failure() -> None:
    begun = after(ROLLOUT, Fleet(podset("web-a", 1)))
    late = after(begun, Fleet(podset("web-a", 1)), seconds=100)

    paused = after(replace(late, is_paused=True), Fleet(podset("web-a", 1)), seconds=101)

    assert progressing(paused) == ("False", "ProgressDeadlineExceeded")


def test_without_a_deadline_there_is_no_such_condition() -> None:
    rollout = after(replace(ROLLOUT, progress_deadline_seconds=NO_DEADLINE), Fleet())

    assert progressing(rollout) is None
    assert seconds_to_deadline(rollout, rollout.status, NOW) is None


def test_a_refused_podset_stalls_the_rollout() -> None:
    rollout = after(ROLLOUT, Fleet(), create_error="no")

    assert progressing(rollout) == ("False", "PodSetCreateError")
    assert is_true(rollout.status.conditions, "Stalled")


def test_a_failure_of_the_new_podset_is_told_rather_than_one_of_an_old() -> None:
    def failing(message: str) -> tuple[Condition, ...]:
        return (Condition("ReplicaFailure", "True", "FailedCreate", message),)

    fleet = Fleet(
        podset("new", 1, conditions=failing("new")), (podset("old", 1, conditions=failing("old")),)
    )

    condition = find_condition(after(ROLLOUT, fleet).status.conditions, "ReplicaFailure")

    assert condition is not None
    assert condition.message == "new"
    gone = after(after(ROLLOUT, fleet), Fleet(podset("new", 1)))
    assert find_condition(gone.status.conditions, "ReplicaFailure") is None


def test_a_deleting_rollout_is_never_ready() -> None:
    deleting = replace(ROLLOUT, is_deleting=True)

    ready = find_condition(
        after(deleting, Fleet(podset("web-a", 3, available=3))).status.conditions, "Ready"
    )

    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "Deleting")


def test_it_looks_again_a_second_after_the_deadline() -> None:
    rollout = after(ROLLOUT, Fleet(podset("web-a", 1)))

    assert seconds_to_deadline(rollout, rollout.status, NOW) == 61
    assert seconds_to_deadline(rollout, rollout.status, NOW + timedelta(seconds=100)) == 1


def test_a_status_survives_being_written_and_read() -> None:
    status = after(ROLLOUT, Fleet(podset("web-a", 3, available=3))).status

    assert RolloutStatus.from_json(status.to_json()) == status


def test_an_unusable_selector_stalls() -> None:
    told = invalid_status(
        RolloutStatus(), InvalidSelector("spec.selector: bad"), generation=2, now=NOW
    )

    assert is_true(told.conditions, "Stalled")
    assert told.observed_generation == 2
