"""The condition Progressing: a small machine.

A new target, progress and completion move it on and set the clock of the deadline back; the
deadline ends it. It rests while a step waits, and while a failed revision is held it says why.
Unlike upstream, a return to an old template counts as a new target too, so that its deadline is
kept. Pure.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from kube_runtime.conditions import Condition, Status, find_condition
from workloads.rollout import conditions
from workloads.rollout.fleet import Fleet
from workloads.rollout.resources import Rollout, RolloutStatus
from workloads.rollout.revisions import is_new
from workloads.rollout.standing import is_resting


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
    trouble: tuple[str, str] | None = None,
) -> Progress:
    """Decide how the rollout goes; `status` has the counts, rollout.status the former ones.

    `trouble` is a reason and a message why it cannot go on: a refused write, a failed revision.
    """
    if status.held is not None:
        message = f"revision {status.held.revision} has failed: {status.held.message}"
        return Progress(_condition(rollout, "False", status.held.reason, message))
    if not rollout.has_deadline:
        return Progress(None)
    present = find_condition(rollout.status.conditions, conditions.PROGRESSING)
    if trouble is not None:
        return Progress(_condition(rollout, "False", *trouble))
    if rollout.is_paused:
        return Progress(_paused(rollout, present))
    if status.step is not None and is_resting(status.step):
        return Progress(_condition(rollout, "True", conditions.WAITING, status.step.message))
    return _running(rollout, fleet, status, present, now)


def _paused(rollout: Rollout, present: Condition | None) -> Condition:
    if present is not None and present.reason == conditions.DEADLINE_EXCEEDED:
        return present
    return _condition(rollout, "Unknown", conditions.PAUSED, "the rollout is paused")


def _running(
    rollout: Rollout,
    fleet: Fleet,
    status: RolloutStatus,
    present: Condition | None,
    now: datetime,
) -> Progress:
    if present is None or rollout.status.updated_podset != status.updated_podset:
        return Progress(_begin(rollout, fleet, status), has_moved=True)
    if status.replicas == status.updated_replicas and present.reason == conditions.COMPLETE:
        return Progress(present)  # done; pods that fail later are no failed rollout
    moved = _moved(rollout, status, present)
    if moved is not None:
        return Progress(moved, has_moved=True)
    if present.reason in conditions.UNDER_WAY:
        last_progress = rollout.status.last_progress
        if _is_late(rollout, last_progress, now):
            return Progress(_late(rollout, status))
    return Progress(present)


def _moved(rollout: Rollout, status: RolloutStatus, present: Condition) -> Condition | None:
    """Say how the rollout has come a step further; None when it has not."""
    name = status.updated_podset or "the old pods"
    if conditions.is_complete(rollout, status):
        message = f"PodSet {name} has successfully progressed"
        return _condition(rollout, "True", conditions.COMPLETE, message)
    if present.reason == conditions.PAUSED:
        return _condition(rollout, "Unknown", conditions.RESUMED, "the rollout is resumed")
    goes_on = present.reason in conditions.PASSING
    if goes_on or _has_progressed(rollout.status, status):
        return _condition(rollout, "True", conditions.UPDATED, f"PodSet {name} is progressing")
    return None


def _late(rollout: Rollout, status: RolloutStatus) -> Condition:
    message = (
        f"no progress for {rollout.progress_deadline_seconds} s: "
        f"{status.updated_replicas} of {rollout.replicas} pods updated, "
        f"{status.available_replicas} available"
    )
    if status.blocked_by is not None:
        message = f"{message}; {status.blocked_by.reason}: {status.blocked_by.message}"
    return _condition(rollout, "False", conditions.DEADLINE_EXCEEDED, message)


def _begin(rollout: Rollout, fleet: Fleet, status: RolloutStatus) -> Condition:
    if fleet.new is None:
        waits_for = "the old pods to go"
        if status.blocked_by is not None and status.blocked_by.reason in conditions.REFUSED:
            waits_for = "a template that the API server takes"
        return _condition(rollout, "True", conditions.UPDATED, f"waits for {waits_for}")
    name = status.updated_podset
    if is_new(fleet.new):
        return _condition(rollout, "True", conditions.CREATED, f"created PodSet {name}")
    return _condition(rollout, "True", conditions.FOUND, f"found PodSet {name}")


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


def _condition(rollout: Rollout, status: Status, reason: str, message: str) -> Condition:
    return Condition(conditions.PROGRESSING, status, reason, message, rollout.generation)
