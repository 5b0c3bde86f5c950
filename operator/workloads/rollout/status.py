"""The status of a Rollout: sums over its PodSets, how the rollout goes on, since when.

Computed in every sync; written only if it differs. Pure.
"""

from dataclasses import replace
from datetime import datetime

from kube_runtime.conditions import Condition, Verdict, find_condition, kstatus
from kube_runtime.selectors import InvalidSelector
from workloads.blocked_by import BlockedBy
from workloads.rollout import conditions
from workloads.rollout.fleet import Fleet
from workloads.rollout.progressing import progress
from workloads.rollout.resources import Rollout, RolloutStatus
from workloads.rollout.revisions import revision_of
from workloads.rollout.standing import KnownGood
from workloads.rollout.template_verdict import TemplateVerdict


def next_status(
    rollout: Rollout,
    fleet: Fleet,
    *,
    now: datetime,
    create_error: str | None = None,
    failure: tuple[str, str] | None = None,
    verdict: TemplateVerdict | None = None,
) -> RolloutStatus:
    """Describe the fleet, and what keeps it from its aim.

    `failure` is why the new revision has failed, if it has and nothing is done about it.
    """
    counted = _counted(rollout, fleet)
    counted = replace(counted, blocked_by=_blocked_by(rollout, fleet, verdict, now))
    trouble = (conditions.CREATE_ERROR, create_error) if create_error is not None else failure
    moved = progress(rollout, fleet, counted, now=now, trouble=trouble)
    last_progress = now if moved.has_moved else rollout.status.last_progress
    status = replace(
        counted, last_progress=last_progress, known_good=_known_good(rollout, fleet, counted)
    )
    entries = conditions.own_conditions(
        rollout, fleet, status, moved.condition, verdict=verdict, now=now
    )
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
        config=rollout.config_hash,
    )


def _known_good(rollout: Rollout, fleet: Fleet, status: RolloutStatus) -> KnownGood | None:
    """Remember the new revision once it is complete and healthy; no pods prove nothing."""
    new = fleet.new
    if new is None or status.held is not None or rollout.replicas == 0 or not new.is_observed:
        return status.known_good
    if not conditions.is_complete(rollout, status) or new.status.blocked_by is not None:
        return status.known_good
    most = rollout.rollback.max_restarts
    if most is not None and new.status.restarts > most:
        return status.known_good
    return KnownGood(new.key.name, revision_of(new))


def _blocked_by(
    rollout: Rollout, fleet: Fleet, verdict: TemplateVerdict | None, now: datetime
) -> BlockedBy | None:
    """Say what is in the way: the template, or what the PodSets say, the new one first."""
    refused = verdict.blocks if verdict is not None else None
    if verdict is None or refused is None:
        found = (podset.status.blocked_by for podset in reversed(fleet.all))
        return next((blocked for blocked in found if blocked is not None), None)
    before = rollout.status.blocked_by
    since = before.since if before is not None and before.reason == refused else now
    return BlockedBy(refused, verdict.message, count=rollout.replicas, since=since)


def _with_kstatus(
    rollout: Rollout, status: RolloutStatus, entries: list[Condition], now: datetime
) -> list[Condition]:
    generation = rollout.generation
    message = _message(rollout, status)
    failed = _failed(status, entries)
    if failed is not None and not rollout.is_deleting:
        ready = replace(failed, status="False")
        return kstatus(entries, now, generation=generation, ready=ready, stalled=failed)
    if conditions.is_complete(rollout, status) and not rollout.is_deleting:
        ready = Verdict("True", "RolloutComplete", message)
        return kstatus(entries, now, generation=generation, ready=ready)
    reason = _reason(rollout, status)
    return kstatus(
        entries,
        now,
        generation=generation,
        ready=Verdict("False", reason, message),
        reconciling=Verdict("True", reason, message),
    )


def _failed(status: RolloutStatus, entries: list[Condition]) -> Verdict | None:
    """Say what does not end by itself; None when nothing is of that kind."""
    if status.held is not None:
        message = f"revision {status.held.revision} is held: {status.held.message}"
        return Verdict("True", status.held.reason, message)
    valid = find_condition(entries, conditions.TEMPLATE_VALID)
    if valid is not None and valid.status == "False":
        return Verdict("True", valid.reason, valid.message)
    progressing = find_condition(entries, conditions.PROGRESSING)
    if progressing is not None and progressing.reason in conditions.STUCK:
        return Verdict("True", progressing.reason, progressing.message)
    return None


def _message(rollout: Rollout, status: RolloutStatus) -> str:
    message = (
        f"{status.updated_replicas} of {rollout.replicas} pods updated, "
        f"{status.available_replicas} available"
    )
    if status.blocked_by is None:
        return message
    return f"{message}; {status.blocked_by.reason}: {status.blocked_by.message}"


def _reason(rollout: Rollout, status: RolloutStatus) -> str:
    if rollout.is_deleting:
        return "Deleting"
    if rollout.is_paused:
        return conditions.PAUSED
    progressing = find_condition(status.conditions, conditions.PROGRESSING)
    if progressing is not None and progressing.reason == conditions.WAITING:
        return conditions.WAITING
    is_updated = status.updated_replicas == status.replicas == rollout.replicas
    return "PodsUnavailable" if is_updated else "RollingOut"
