"""Which revision to go for: the spec's, or the last good one while the spec's is held.

A revision that fails is held: the Rollout turns to the revision that was last complete and healthy,
by the same small steps as in any rollout. What is held and what is good stands in the status, and
everything is decided from there, so that a new controller goes on where the last one was. Pure.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from kube_runtime.conditions import find_condition
from workloads import names, templates
from workloads.podset.resources import PodSet
from workloads.rollout import conditions
from workloads.rollout.fleet import Fleet
from workloads.rollout.policies import RollbackMode
from workloads.rollout.resources import Rollout
from workloads.rollout.revisions import is_new, revision_of
from workloads.rollout.standing import Held, StepState, StepStatus

_STEP_REASONS: Final = {"Gate": "GateFailed", "Job": "JobFailed"}


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a revision is not to be gone on with."""

    reason: str
    message: str


def aim(rollout: Rollout, fleet: Fleet) -> tuple[Rollout, Fleet]:
    """Turn to the good revision while the spec's is held, and let that one go when it may."""
    held = rollout.status.held
    if held is None:
        return rollout, fleet
    if good_podset(rollout, fleet) is None or _is_released(rollout, fleet, held):
        return _with(rollout, held=None), fleet
    return turned_back(_with(rollout, held=_renewed(rollout, held)), fleet)


def hold(
    rollout: Rollout, fleet: Fleet, failure: Failure, *, now: datetime
) -> tuple[Rollout, Fleet]:
    """Hold the new revision for its failure, and turn to the good one."""
    if fleet.new is None:
        return rollout, fleet
    held = Held(
        podset=fleet.new.key.name,
        revision=revision_of(fleet.new),
        template_hash=templates.hash_of(rollout.template, 0),
        reason=failure.reason,
        message=failure.message,
        since=now,
        retry=rollout.annotations.get(names.RETRY, ""),
    )
    return turned_back(_with(rollout, held=held), fleet)


def turned_back(rollout: Rollout, fleet: Fleet) -> tuple[Rollout, Fleet]:
    """Take the good revision for the new one; it has no steps to go through."""
    good = good_podset(rollout, fleet)
    if good is None:
        return rollout, fleet
    return _with(rollout, step=None), fleet.turned_to(good.key.name)


def good_podset(rollout: Rollout, fleet: Fleet) -> PodSet | None:
    """Find the PodSet of the revision that was last complete and healthy."""
    known = rollout.status.known_good
    if known is None:
        return None
    return next(
        (
            podset
            for podset in fleet.all
            if podset.key.name == known.podset and not podset.is_deleting and not is_new(podset)
        ),
        None,
    )


def failure_of(rollout: Rollout, fleet: Fleet, now: datetime) -> Failure | None:
    """Say why the new revision has failed; None as well when there is nothing to go back to."""
    new, good = fleet.new, good_podset(rollout, fleet)
    is_idle = rollout.is_paused or rollout.is_deleting or rollout.status.held is not None
    if new is None or good is None or good.key == new.key or is_new(new) or is_idle:
        return None
    return (
        _failed_step(rollout.status.step, new)
        or _too_late(rollout, new)
        or _too_broken(rollout, new, now)
    )


def goes_back_by_itself(rollout: Rollout) -> bool:
    """Tell whether a failed revision makes way, or is only reported."""
    return rollout.rollback.mode is RollbackMode.AUTOMATIC


def seconds_to_crash_verdict(rollout: Rollout, fleet: Fleet, now: datetime) -> float | None:
    """Tell when a crash loop of the new pods will have lasted for too long."""
    blocked = fleet.new.status.blocked_by if fleet.new is not None else None
    if blocked is None or blocked.reason != "CrashLoop" or rollout.status.held is not None:
        return None
    left = (_crash_limit(rollout, blocked.since or now) - now).total_seconds()
    return left if left > 0 else None


def _is_released(rollout: Rollout, fleet: Fleet, held: Held) -> bool:
    """Tell whether the held revision may go: a new template, a retry, or no more going back."""
    retry = rollout.annotations.get(names.RETRY, "")
    if retry and retry != held.retry:
        return True
    if not goes_back_by_itself(rollout):
        return True
    if fleet.new is not None:
        return fleet.new.key.name != held.podset
    return templates.hash_of(rollout.template, 0) != held.template_hash


def _renewed(rollout: Rollout, held: Held) -> Held:
    """Keep the hash up to date where a CRD's new default has changed how the template reads."""
    return replace(held, template_hash=templates.hash_of(rollout.template, 0))


def _failed_step(step: StepStatus | None, new: PodSet) -> Failure | None:
    if step is None or step.podset != new.key.name or step.state is not StepState.FAILED:
        return None
    return Failure(_STEP_REASONS.get(step.type, "StepFailed"), step.message)


def _too_late(rollout: Rollout, new: PodSet) -> Failure | None:
    """Take the deadline from the condition, which says so for the PodSet that was new then."""
    progressing = find_condition(rollout.status.conditions, conditions.PROGRESSING)
    if progressing is None or progressing.reason != conditions.DEADLINE_EXCEEDED:
        return None
    if rollout.status.updated_podset != new.key.name:
        return None
    return Failure(progressing.reason, progressing.message)


def _too_broken(rollout: Rollout, new: PodSet, now: datetime) -> Failure | None:
    policy, status = rollout.rollback, new.status
    if policy.max_restarts is not None and status.restarts > policy.max_restarts:
        message = f"{status.restarts} restarts, at most {policy.max_restarts} expected"
        return Failure(conditions.TOO_MANY_RESTARTS, message)
    if policy.max_failed_pods is not None and status.failed_replicas > policy.max_failed_pods:
        message = f"{status.failed_replicas} pods failed, at most {policy.max_failed_pods} expected"
        return Failure(conditions.TOO_MANY_FAILED_PODS, message)
    blocked = status.blocked_by
    if blocked is None or blocked.reason != "CrashLoop":
        return None
    if now < _crash_limit(rollout, blocked.since or now):
        return None
    return Failure(conditions.CRASH_LOOP, blocked.message)


def _crash_limit(rollout: Rollout, since: datetime) -> datetime:
    return since + timedelta(seconds=rollout.rollback.crash_loop_seconds)


def _with(rollout: Rollout, **standing: object) -> Rollout:
    """Give the Rollout a status with these parts changed."""
    return replace(rollout, status=replace(rollout.status, **standing))  # type: ignore[arg-type]  # by name
