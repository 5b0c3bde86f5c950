"""A pod that has to leave its node gets its successor first: one more, then one fewer.

Works on a Rollout that is not in the middle of a change; a change replaces pods anyway. While pods
stand on nodes that are being emptied, the PodSet is larger by as many as maxSurge allows. Once all
of its pods are available it shrinks again, and the PodSet's ranking lets the disrupted ones go
first. So there are never more than replicas + maxSurge, and what is taken away is never needed. Pure.
"""

from workloads.podset.resources import PodSet
from workloads.rollout import maths
from workloads.rollout.fleet import Fleet, desired_replicas
from workloads.rollout.plan.rolling import room_above
from workloads.rollout.policies import DisruptionMode
from workloads.rollout.resources import Rollout


def protect(rollout: Rollout, fleet: Fleet) -> Fleet | None:
    """Take the next step; None when no pod has to leave, or a change is under way."""
    podset = _steady(rollout, fleet)
    if podset is None or podset.status.disrupted_replicas == 0:
        return None
    if not _has_settled(podset):
        return fleet  # the last step is still being taken
    size = _next_size(rollout, fleet, podset)
    return fleet if size == podset.replicas else fleet.scaled(rollout, {podset.key.name: size})


def can_surge(rollout: Rollout) -> bool:
    """Tell whether a successor may come before a pod goes."""
    return rollout.disruption.mode is DisruptionMode.SURGE and maths.max_surge(rollout) > 0


def _steady(rollout: Rollout, fleet: Fleet) -> PodSet | None:
    """Find the one PodSet that has pods, if it is the one that shall have them all."""
    if not can_surge(rollout) or len(fleet.active) != 1:
        return None
    podset = fleet.active[0]
    is_wanted = podset is fleet.new or rollout.is_paused
    is_whole = podset.replicas >= rollout.replicas > 0
    is_current = desired_replicas(podset) in (None, rollout.replicas)
    is_alone = all(other.status.replicas == 0 for other in fleet.all if other is not podset)
    return podset if is_wanted and is_whole and is_current and is_alone else None


def _has_settled(podset: PodSet) -> bool:
    return podset.is_observed and podset.status.replicas == podset.replicas


def _next_size(rollout: Rollout, fleet: Fleet, podset: PodSet) -> int:
    disrupted = min(podset.status.disrupted_replicas, podset.replicas)
    extra = podset.replicas - rollout.replicas
    if extra > 0:
        # Only when all are available: a pod that is not would be the first to go.
        is_level = podset.status.available_replicas >= podset.replicas
        return podset.replicas - min(extra, disrupted) if is_level else podset.replicas
    wanted = min(disrupted, maths.max_surge(rollout), max(0, room_above(rollout, fleet)))
    return podset.replicas + wanted
