"""The Rollout's own conditions beside Progressing: what they are called and when they are there.

Available always is; ReplicaFailure, TemplateValid and RolledBack while they have something to say.
Pure.
"""

from datetime import datetime
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
from workloads.rollout.pending import are_steps_pending
from workloads.rollout.resources import Rollout, RolloutStatus
from workloads.rollout.template_verdict import ADMISSION, TEMPLATE_INVALID, VALID, TemplateVerdict

AVAILABLE: Final = "Available"
PROGRESSING: Final = "Progressing"
TEMPLATE_VALID: Final = "TemplateValid"
ROLLED_BACK: Final = "RolledBack"

CREATED: Final = "NewPodSetCreated"
FOUND: Final = "FoundNewPodSet"
UPDATED: Final = "PodSetUpdated"
COMPLETE: Final = "NewPodSetAvailable"
PAUSED: Final = "RolloutPaused"
RESUMED: Final = "RolloutResumed"
WAITING: Final = "StepWaiting"
DEADLINE_EXCEEDED: Final = "ProgressDeadlineExceeded"
CREATE_ERROR: Final = "PodSetCreateError"
TOO_MANY_RESTARTS: Final = "TooManyRestarts"
TOO_MANY_FAILED_PODS: Final = "TooManyFailedPods"
CRASH_LOOP: Final = "CrashLoop"
GATE_FAILED: Final = "GateFailed"
JOB_FAILED: Final = "JobFailed"

FAILED: Final = frozenset(
    {TOO_MANY_RESTARTS, TOO_MANY_FAILED_PODS, CRASH_LOOP, GATE_FAILED, JOB_FAILED}
)
"""Why a revision has failed before its deadline."""
UNDER_WAY: Final = frozenset({CREATED, FOUND, UPDATED, RESUMED, CREATE_ERROR})
STUCK: Final = frozenset({DEADLINE_EXCEEDED, CREATE_ERROR}) | FAILED
PASSING: Final = frozenset({WAITING}) | FAILED
"""What ends by itself: a step that has waited, pods that have recovered."""
REFUSED: Final = frozenset({ADMISSION, TEMPLATE_INVALID})


def is_complete(rollout: Rollout, status: RolloutStatus) -> bool:
    """Tell whether all pods are of the new template, available, none left over, no step to come."""
    counts = {status.updated_replicas, status.replicas, status.available_replicas}
    if counts != {rollout.replicas} or not status.updated_podset:
        return False
    return not are_steps_pending(rollout, status, status.updated_podset)


def own_conditions(
    rollout: Rollout,
    fleet: Fleet,
    status: RolloutStatus,
    progressing: Condition | None,
    *,
    verdict: TemplateVerdict | None,
    now: datetime,
) -> list[Condition]:
    """Put the conditions in their places, and take away those that say nothing any more."""
    entries = list(rollout.status.conditions)
    wanted = {
        AVAILABLE: _available(rollout, status),
        PROGRESSING: progressing,
        REPLICA_FAILURE: _replica_failure(fleet),
        TEMPLATE_VALID: _template_valid(rollout, fleet, verdict),
        ROLLED_BACK: _rolled_back(rollout, status),
    }
    for type_, condition in wanted.items():
        if condition is None:
            entries = remove_condition(entries, type_)
        else:
            entries = set_condition(entries, condition, now)
    return entries


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


def _template_valid(
    rollout: Rollout, fleet: Fleet, verdict: TemplateVerdict | None
) -> Condition | None:
    """Say what the dry run said; what was said of a template goes on to hold while it is there."""
    if verdict is not None:
        return _typed(rollout, TEMPLATE_VALID, verdict.status, verdict.reason, verdict.message)
    present = find_condition(rollout.status.conditions, TEMPLATE_VALID)
    if present is None or fleet.new is None:
        return present
    said = VALID if present.status == "False" else present  # another one was refused: this has pods
    return _typed(rollout, TEMPLATE_VALID, said.status, said.reason, said.message)


def _rolled_back(rollout: Rollout, status: RolloutStatus) -> Condition | None:
    held, good = status.held, status.known_good
    if held is None or good is None:
        return None
    what = f"revision {held.revision} is held ({held.reason})"
    if is_complete(rollout, status):
        message = f"{what}; revision {good.revision} is back"
        return _typed(rollout, ROLLED_BACK, "True", "RolledBack", message)
    message = (
        f"{what}; revision {good.revision} comes back: "
        f"{status.updated_replicas} of {rollout.replicas} pods, "
        f"{status.available_replicas} available in all"
    )
    return _typed(rollout, ROLLED_BACK, "False", "RollingBack", message)


def _typed(rollout: Rollout, type_: str, status: Status, reason: str, message: str) -> Condition:
    return Condition(type_, status, reason, message, rollout.generation)
