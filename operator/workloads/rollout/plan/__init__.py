"""What to do about one Rollout: which PodSets to make, resize, annotate and forget.

A function of what the store shows, what was found out beforehand and the time; the reconciler
carries it out. One plan is one move: the next is decided when the PodSets have answered. Pure.
"""

from dataclasses import dataclass
from datetime import datetime

from workloads.podset.resources import PodSet
from workloads.rollout.conditions import DEADLINE_EXCEEDED, is_complete
from workloads.rollout.evidence import Evidence
from workloads.rollout.fleet import Fleet
from workloads.rollout.plan.aim import (
    Failure,
    aim,
    failure_of,
    goes_back_by_itself,
    hold,
    seconds_to_crash_verdict,
)
from workloads.rollout.plan.disruption import protect
from workloads.rollout.plan.recreate import recreate
from workloads.rollout.plan.resize import resize
from workloads.rollout.plan.rolling import new_replicas, roll
from workloads.rollout.plan.steps import (
    HookJob,
    at_step,
    limit,
    next_step,
    seconds_to_next_look,
    wanted,
)
from workloads.rollout.resources import Rollout, RolloutStatus, StrategyType
from workloads.rollout.revisions import begin_revision, forgotten, is_new, with_revision
from workloads.rollout.status import next_status, seconds_to_deadline
from workloads.rollout.steps import GateStep
from workloads.rollout.template_verdict import TemplateVerdict


@dataclass(frozen=True, slots=True)
class Change:
    """A PodSet as it is and as it shall be."""

    before: PodSet
    after: PodSet


@dataclass(frozen=True, slots=True)
class Questions:
    """What is to be found out before anything is decided."""

    is_template_new: bool = False
    """Whether the API server would take a pod of the template has to be asked."""
    step: GateStep | HookJob | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write, in this order, and the status that is true then."""

    status: RolloutStatus
    create: PodSet | None = None
    changes: tuple[Change, ...] = ()
    forget: tuple[PodSet, ...] = ()
    look_again_after: float | None = None
    """Seconds until something is due though nothing has happened."""


def questions(rollout: Rollout, fleet: Fleet, *, now: datetime) -> Questions:
    """Say what plan_rollout has to know besides."""
    if rollout.is_deleting or rollout.is_paused:
        return Questions()
    rollout, fleet = aim(rollout, fleet)
    new = fleet.new
    has_begun = new is not None and (new.replicas > 0 or rollout.replicas == 0)
    return Questions(
        is_template_new=not has_begun and rollout.status.held is None,
        step=wanted(rollout, fleet, now),
    )


def plan_rollout(
    rollout: Rollout,
    fleet: Fleet,
    *,
    now: datetime,
    verdict: TemplateVerdict | None = None,
    evidence: Evidence | None = None,
) -> Plan:
    """Decide the next move towards the spec, or back from it."""
    before = fleet
    rollout, fleet = aim(rollout, fleet)
    rollout = at_step(rollout, next_step(rollout, fleet, evidence=evidence, now=now))
    failure = failure_of(rollout, fleet, now)
    if failure is not None and goes_back_by_itself(rollout):
        rollout, fleet = hold(rollout, fleet, failure, now=now)
    is_refused = verdict is not None and verdict.blocks is not None
    after = fleet if rollout.is_deleting else _next_fleet(rollout, fleet, is_refused=is_refused)
    status = next_status(
        rollout,
        after,
        now=now,
        failure=_trouble(failure),
        verdict=verdict,
    )
    may_forget = not rollout.is_deleting and after == fleet
    may_forget = may_forget and (rollout.is_paused or is_complete(rollout, status))
    looks = (
        seconds_to_deadline(rollout, status, now),
        seconds_to_next_look(rollout, status.step, now),
        seconds_to_crash_verdict(rollout, fleet, now),
        verdict.retry_after if verdict is not None else None,
    )
    return Plan(
        status=status,
        create=after.new if after.new is not None and is_new(after.new) else None,
        changes=_changes(before, after),
        forget=forgotten(rollout, fleet) if may_forget else (),
        look_again_after=min((look for look in looks if look is not None), default=None),
    )


def _trouble(failure: Failure | None) -> tuple[str, str] | None:
    """Pass on what Progressing does not know by itself, as it does its deadline."""
    if failure is None or failure.reason == DEADLINE_EXCEEDED:
        return None
    return failure.reason, failure.message


def _next_fleet(rollout: Rollout, fleet: Fleet, *, is_refused: bool) -> Fleet:
    fleet = with_revision(rollout, fleet)
    protected = protect(rollout, fleet)
    if protected is not None:
        return protected
    resized = resize(rollout, fleet)
    if resized != fleet or rollout.is_paused or is_refused:
        return resized
    if rollout.strategy is StrategyType.RECREATE and limit(rollout, fleet) >= rollout.replicas:
        return with_revision(rollout, recreate(rollout, fleet))
    if fleet.new is None:
        return with_revision(rollout, _with_new(rollout, fleet))
    return fleet if rollout.strategy is StrategyType.RECREATE else roll(rollout, fleet)


def _with_new(rollout: Rollout, fleet: Fleet) -> Fleet:
    """Add the PodSet of the template, with as many pods as there is room for: one write."""
    begun = Fleet(begin_revision(rollout), fleet.old)
    return begun.scaled(rollout, {begun.all[-1].key.name: new_replicas(rollout, begun)})


def _changes(before: Fleet, after: Fleet) -> tuple[Change, ...]:
    present = {podset.key: podset for podset in before.all}
    return tuple(
        Change(present[podset.key], podset)
        for podset in after.all
        if podset.key in present and present[podset.key] != podset
    )
