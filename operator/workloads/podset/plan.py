"""What to do about one PodSet: which pods to make, delete, adopt and let go.

A function of what the store shows, the time and a source of randomness; the reconciler carries it
out. It never asks for more pods than spec.replicas, and asks for nothing once its last plan has
been carried out. Pods that failed at once make it wait (backoff.py). Pure.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from workloads import naming
from workloads.pods import Pod
from workloads.podset.backoff import NO_BACKOFF, Backoff, backoff_of, superfluous_evidence
from workloads.podset.ranking import rank_for_deletion
from workloads.podset.resources import PodSet

BURST_REPLICAS: Final = 500  # no more creations or deletions in one go, as upstream


@dataclass(frozen=True, slots=True)
class World:
    """What one look at a PodSet sees, once the store shows everything that we wrote."""

    podset: PodSet
    pods: tuple[Pod, ...] = ()
    """Its pods: those it controls and its selector matches, and those in `adopt`."""
    adopt: tuple[Pod, ...] = ()
    """Orphans that its selector matches."""
    release: tuple[Pod, ...] = ()
    """Pods that it controls, but whose labels it no longer selects."""
    related_on_node: Mapping[str, int] = field(default_factory=dict, hash=False)
    """How many active pods of the same Rollout each node has."""
    disrupted_nodes: frozenset[str] = frozenset()
    """The nodes that are cordoned or being drained."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, in this order."""

    release: tuple[Pod, ...] = ()
    adopt: tuple[Pod, ...] = ()
    create: tuple[str, ...] = ()
    """The names of the pods to create."""
    delete: tuple[Pod, ...] = ()
    collect: tuple[Pod, ...] = ()
    """Pods that have ended and that nobody needs to look at any more."""
    backoff: Backoff = NO_BACKOFF
    """What holds creations back; its time is over when none is missing."""
    look_again_after: float | None = None
    """Seconds until something is due by the passing of time alone."""

    @property
    def needs_owner(self) -> bool:
        """Tell whether the live PodSet must be looked at before anything is done."""
        return bool(self.adopt or self.create or self.delete or self.collect)


def plan_pods(world: World, *, now: datetime, random_source: random.Random) -> Plan:
    """Decide what brings the pods level with the spec."""
    available = _next_availability(world, now)
    if world.podset.is_deleting:
        # The garbage collector is at work: making or taking pods would fight it.
        return Plan(look_again_after=_seconds_until(available, now=now))
    active = [pod for pod in world.pods if pod.is_active]
    missing = world.podset.replicas - len(active)
    # Who wants no pods waits for none, and has no trouble with them.
    backoff = backoff_of(world.pods, now) if world.podset.replicas else NO_BACKOFF
    allowed = min(backoff.allowed(missing, now), BURST_REPLICAS)
    if allowed or missing <= 0:
        backoff = replace(backoff, until=None)  # nobody waits for it
    return Plan(
        release=world.release,
        adopt=world.adopt,
        create=_choose_names(world, allowed, random_source),
        delete=_choose_victims(world, active, min(-missing, BURST_REPLICAS), now),
        collect=superfluous_evidence(world.pods)[:BURST_REPLICAS],
        backoff=backoff,
        look_again_after=_seconds_until(available, backoff.until, now=now),
    )


def _choose_names(world: World, count: int, random_source: random.Random) -> tuple[str, ...]:
    if count <= 0:
        return ()
    taken = {pod.name for pod in world.pods}
    return naming.pod_names(world.podset.key.name, count, taken=taken, random_source=random_source)


def _choose_victims(world: World, active: list[Pod], count: int, now: datetime) -> tuple[Pod, ...]:
    if count <= 0:
        return ()
    if count == len(active):
        return tuple(active)
    ranked = rank_for_deletion(
        active,
        related_on_node=world.related_on_node,
        disrupted_nodes=world.disrupted_nodes,
        now=now,
    )
    return tuple(ranked[:count])


def _next_availability(world: World, now: datetime) -> datetime | None:
    min_ready_seconds = world.podset.min_ready_seconds
    if min_ready_seconds == 0:
        return None
    needed = timedelta(seconds=min_ready_seconds)
    since = now - needed  # counted once, not for each of a thousand pods
    coming = (
        pod.ready_since
        for pod in world.pods
        if pod.ready_since is not None and pod.ready_since > since and pod.is_active
    )
    first = min(coming, default=None)
    return first + needed if first is not None else None


def _seconds_until(*moments: datetime | None, now: datetime) -> float | None:
    """Count to the first of the moments that are still to come."""
    coming = [moment for moment in moments if moment is not None and moment > now]
    return (min(coming) - now).total_seconds() if coming else None
