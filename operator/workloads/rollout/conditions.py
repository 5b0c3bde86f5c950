"""The Rollout's own conditions: Available, Progressing, ReplicaFailure.

Progressing is a small machine: a new target, progress and completion move it on and set the clock
of the deadline back; the deadline ends it. Unlike upstream, a return to an old template counts as
a new target too, so that its deadline is kept. Pure.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kube_runtime.conditions import (
    Condition,
    Status,
    find_condition,
    remove_condition,
    set_condition,
)
from workloads.podset.status import REPLICA_FAILURE
from workloads.rollout import maths
from workloads.rollout.fleet import Fleet
from workloads.rollout.resources import Rollout, RolloutStatus
from workloads.rollout.revisions import is_new

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"

CREATED: Final = "NewPodSetCreated"
FOUND: Final = "FoundNewPodSet"
UPDATED: Final = "PodSetUpdated"
COMPLETE: Final = "NewPodSetAvailable"
PAUSED: Final = "RolloutPaused"
RESUMED: Final = "RolloutResumed"
DEADLINE_EXCEEDED: Final = "ProgressDeadlineExceeded"
CREATE_ERROR: Final = "PodSetCreateError"
UNDER_WAY: Final = frozenset({CREATED, FOUND, UPDATED, RESUMED, CREATE_ERROR})
STUCK: Final = frozenset({DEADLINE_EXCEEDED, CREATE_ERROR})


@dataclass(frozen=True, slots=True)
class Progress:
    """What Progressing says now, and whether that sets the clock of the deadline back."""

    condition: Condition | None
    has_moved: bool = False


def progress(
    rollout: Rollout,
    fleet: Fleet,
    status: RolloutStatus,
    *,
    now: datetime,
    create_error: str | None = None,
) -> Progress:
    """Decide how the rollout goes; `status` has the counts, rollout.status the former ones."""
    if not rollout.has_deadline:
        return Progress(None)
    present = find_condition(rollout.status.conditions, PROGRESSING)
    reason = present.reason if present is not None else ""
    if create_error is not None:
        return Progress(_condition(rollout, "False", CREATE_ERROR, create_error))
    if rollout.is_paused:
        if present is not None and reason == DEADLINE_EXCEEDED:
            return Progress(present)
        return Progress(_condition(rollout, "Unknown", PAUSED, "the rollout is paused"))
    return _running(rollout, fleet, status, present, now)


def own_conditions(
    rollout: Rollout,
    fleet: Fleet,
    status: RolloutStatus,
    progressing: Condition | None,
    *,
    now: datetime,
) -> list[Condition]:
    """Put the three conditions in their places."""
    entries = set_condition(rollout.status.conditions, _available(rollout, status), now)
    if progressing is None:
        entries = remove_condition(entries, PROGRESSING)
    else:
        entries = set_condition(entries, progressing, now)
    failure = _replica_failure(fleet)
    if failure is None:
        return remove_condition(entries, REPLICA_FAILURE)
    return set_condition(entries, failure, now)


def is_complete(rollout: Rollout, status: RolloutStatus) -> bool:
    """Tell whether all pods are of the new template, available, and none is left over."""
    counts = {status.updated_replicas, status.replicas, status.available_replicas}
    return counts == {rollout.replicas} and bool(status.updated_podset)


def _running(
    rollout: Rollout,
    fleet: Fleet,
    status: RolloutStatus,
    present: Condition | None,
    now: datetime,
) -> Progress:
    if present is None or rollout.status.updated_podset != status.updated_podset:
        return Progress(_begin(rollout, fleet, status), has_moved=True)
    if status.replicas == status.updated_replicas and present.reason == COMPLETE:
        return Progress(present)  # done; pods that fail later are no failed rollout
    moved = _moved(rollout, status, present)
    if moved is not None:
        return Progress(moved, has_moved=True)
    if present.reason in UNDER_WAY and _is_late(rollout, rollout.status.last_progress, now):
        return Progress(_late(rollout, status))
    return Progress(present)


def _moved(rollout: Rollout, status: RolloutStatus, present: Condition) -> Condition | None:
    """Say how the rollout has come a step further; None when it has not."""
    name = status.updated_podset or "the old pods"
    if is_complete(rollout, status):
        message = f"PodSet {name} has successfully progressed"
        return _condition(rollout, "True", COMPLETE, message)
    if present.reason == PAUSED:
        return _condition(rollout, "Unknown", RESUMED, "the rollout is resumed")
    if _has_progressed(rollout.status, status):
        return _condition(rollout, "True", UPDATED, f"PodSet {name} is progressing")
    return None


def _late(rollout: Rollout, status: RolloutStatus) -> Condition:
    message = (
        f"no progress for {rollout.progress_deadline_seconds} s: "
        f"{status.updated_replicas} of {rollout.replicas} pods updated, "
        f"{status.available_replicas} available"
    )
    return _condition(rollout, "False", DEADLINE_EXCEEDED, message)


def _begin(rollout: Rollout, fleet: Fleet, status: RolloutStatus) -> Condition:
    if fleet.new is None:
        return _condition(rollout, "True", UPDATED, "waits for the old pods to go")
    if is_new(fleet.new):
        return _condition(rollout, "True", CREATED, f"created PodSet {status.updated_podset}")
    return _condition(rollout, "True", FOUND, f"found PodSet {status.updated_podset}")


def _has_progressed(before: RolloutStatus, now: RolloutStatus) -> bool:
    return (
        now.updated_replicas > before.updated_replicas
        or now.replicas - now.updated_replicas < before.replicas - before.updated_replicas
        or now.ready_replicas > before.ready_replicas
        or now.available_replicas > before.available_replicas
    )


def _is_late(rollout: Rollout, last_progress: datetime | None, now: datetime) -> bool:
    if last_progress is None:
        return False
    return now > last_progress + timedelta(seconds=rollout.progress_deadline_seconds)


def _available(rollout: Rollout, status: RolloutStatus) -> Condition:
    needed = maths.min_available(rollout)
    message = f"{status.available_replicas} pods available, at least {needed} needed"
    if status.available_replicas >= needed:
        return _typed(rollout, AVAILABLE, "True", "MinimumReplicasAvailable", message)
    return _typed(rollout, AVAILABLE, "False", "MinimumReplicasUnavailable", message)


def _replica_failure(fleet: Fleet) -> Condition | None:
    """Take over a failure of the PodSets; the new one's says more."""
    found = (
        find_condition(podset.status.conditions, REPLICA_FAILURE) for podset in reversed(fleet.all)
    )
    return next((condition for condition in found if condition is not None), None)


def _condition(rollout: Rollout, status: Status, reason: str, message: str) -> Condition:
    return _typed(rollout, PROGRESSING, status, reason, message)


def _typed(rollout: Rollout, type_: str, status: Status, reason: str, message: str) -> Condition:
    return Condition(type_, status, reason, message, rollout.generation)
