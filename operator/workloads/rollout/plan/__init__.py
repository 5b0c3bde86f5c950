"""What to do about one Rollout: which PodSets to make, resize, annotate and forget.

A function of what the store shows and the time; the reconciler carries it out. One plan is one
step: the next is decided when the PodSets have answered. Pure.
"""

from dataclasses import dataclass
from datetime import datetime

from workloads.podset.resources import PodSet
from workloads.rollout.conditions import is_complete
from workloads.rollout.fleet import Fleet
from workloads.rollout.plan.recreate import recreate
from workloads.rollout.plan.resize import resize
from workloads.rollout.plan.rolling import new_replicas, roll
from workloads.rollout.resources import Rollout, RolloutStatus, StrategyType
from workloads.rollout.revisions import begin_revision, forgotten, is_new, with_revision
from workloads.rollout.status import next_status, seconds_to_deadline


@dataclass(frozen=True, slots=True)
class Change:
    """A PodSet as it is and as it shall be."""

    before: PodSet
    after: PodSet


@dataclass(frozen=True, slots=True)
class Plan:
    """What to write, in this order, and the status that is true then."""

    status: RolloutStatus
    create: PodSet | None = None
    changes: tuple[Change, ...] = ()
    forget: tuple[PodSet, ...] = ()
    look_again_after: float | None = None
    """Seconds until the progress deadline passes."""


def plan_rollout(rollout: Rollout, fleet: Fleet, *, now: datetime) -> Plan:
    """Decide the next step towards the spec."""
    after = fleet if rollout.is_deleting else _next_fleet(rollout, fleet)
    status = next_status(rollout, after, now=now)
    may_forget = not rollout.is_deleting and after == fleet
    may_forget = may_forget and (rollout.is_paused or is_complete(rollout, status))
    return Plan(
        status=status,
        create=after.new if after.new is not None and is_new(after.new) else None,
        changes=_changes(fleet, after),
        forget=forgotten(rollout, fleet) if may_forget else (),
        look_again_after=seconds_to_deadline(rollout, status, now),
    )


def _next_fleet(rollout: Rollout, fleet: Fleet) -> Fleet:
    fleet = with_revision(rollout, fleet)
    resized = resize(rollout, fleet)
    if resized != fleet or rollout.is_paused:
        return resized
    if rollout.strategy is StrategyType.RECREATE:
        return with_revision(rollout, recreate(rollout, fleet))
    if fleet.new is None:
        return with_revision(rollout, _with_new(rollout, fleet))
    return roll(rollout, fleet)


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
