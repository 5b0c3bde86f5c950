"""The status of a Rollout: sums over its PodSets, how the rollout goes on, since when.

Computed in every sync; written only if it differs. Pure.
"""

from dataclasses import replace
from datetime import datetime

from kube_runtime.conditions import Condition, Verdict, find_condition, kstatus
from kube_runtime.selectors import InvalidSelector
from workloads.rollout import conditions
from workloads.rollout.fleet import Fleet
from workloads.rollout.resources import Rollout, RolloutStatus
from workloads.rollout.revisions import revision_of


def next_status(
    rollout: Rollout, fleet: Fleet, *, now: datetime, create_error: str | None = None
) -> RolloutStatus:
    """Describe the fleet, and what keeps it from its aim."""
    counted = _counted(rollout, fleet)
    verdict = conditions.progress(rollout, fleet, counted, now=now, create_error=create_error)
    last_progress = now if verdict.has_moved else rollout.status.last_progress
    status = replace(counted, last_progress=last_progress)
    entries = conditions.own_conditions(rollout, fleet, status, verdict.condition, now=now)
    return replace(status, conditions=tuple(_with_kstatus(rollout, status, entries, now)))


def invalid_status(
    old: RolloutStatus, error: InvalidSelector, *, generation: int, now: datetime
) -> RolloutStatus:
    """Say that the Rollout cannot be worked on until its spec is put right."""
    entries = kstatus(
        old.conditions,
        now,
        generation=generation,
        ready=Verdict("False", error.reason, str(error)),
        stalled=Verdict("True", error.reason, str(error)),
    )
    return replace(old, observed_generation=generation, conditions=tuple(entries))


def seconds_to_deadline(rollout: Rollout, status: RolloutStatus, now: datetime) -> float | None:
    """Tell when to look whether the rollout has stalled; None when it cannot or did."""
    progressing = find_condition(status.conditions, conditions.PROGRESSING)
    if progressing is None or progressing.reason not in conditions.UNDER_WAY:
        return None
    since = (now - (status.last_progress or now)).total_seconds()
    # lastProgressTime has whole seconds: one more, so that the look does not come too early.
    return max(0.0, rollout.progress_deadline_seconds - since) + 1


def _counted(rollout: Rollout, fleet: Fleet) -> RolloutStatus:
    available = sum(podset.status.available_replicas for podset in fleet.all)
    return replace(
        rollout.status,
        replicas=sum(podset.status.replicas for podset in fleet.all),
        updated_replicas=fleet.new.status.replicas if fleet.new is not None else 0,
        ready_replicas=sum(podset.status.ready_replicas for podset in fleet.all),
        available_replicas=available,
        unavailable_replicas=max(0, rollout.replicas - available),
        terminating_replicas=sum(podset.status.terminating_replicas for podset in fleet.all),
        revision=revision_of(fleet.new) if fleet.new is not None else rollout.status.revision,
        updated_podset=fleet.new.key.name if fleet.new is not None else "",
        observed_generation=rollout.generation,
        selector=rollout.selector.to_string(),
    )


def _with_kstatus(
    rollout: Rollout, status: RolloutStatus, entries: list[Condition], now: datetime
) -> list[Condition]:
    message = (
        f"{status.updated_replicas} of {rollout.replicas} pods updated, "
        f"{status.available_replicas} available"
    )
    if conditions.is_complete(rollout, status) and not rollout.is_deleting:
        ready = Verdict("True", "RolloutComplete", message)
        return kstatus(entries, now, generation=rollout.generation, ready=ready)
    progressing = find_condition(entries, conditions.PROGRESSING)
    if progressing is not None and progressing.reason in conditions.STUCK:
        stuck = Verdict("True", progressing.reason, progressing.message)
        ready = Verdict("False", progressing.reason, progressing.message)
        return kstatus(entries, now, generation=rollout.generation, ready=ready, stalled=stuck)
    reason = _reason(rollout, status)
    return kstatus(
        entries,
        now,
        generation=rollout.generation,
        ready=Verdict("False", reason, message),
        reconciling=Verdict("True", reason, message),
    )


def _reason(rollout: Rollout, status: RolloutStatus) -> str:
    if rollout.is_deleting:
        return "Deleting"
    if rollout.is_paused:
        return conditions.PAUSED
    is_updated = status.updated_replicas == status.replicas == rollout.replicas
    return "PodsUnavailable" if is_updated else "RollingOut"
