"""Recreate: first all old pods go, really go, then the new ones come.

A pod that is terminating still holds its volume or its port, so it is waited for. Pure.
"""

from workloads.podset.resources import PodSet
from workloads.rollout.fleet import Fleet
from workloads.rollout.resources import Rollout
from workloads.rollout.revisions import begin_revision


def recreate(rollout: Rollout, fleet: Fleet) -> Fleet:
    """Take the next step; the same fleet comes back while old pods are waited for."""
    to_zero = {podset.key.name: 0 for podset in fleet.old if podset.replicas > 0}
    if to_zero:
        return fleet.scaled(rollout, to_zero)
    if not all(_is_drained(podset) for podset in fleet.old):
        return fleet
    new = fleet.new or begin_revision(rollout)
    if new.replicas == rollout.replicas and fleet.new is not None:
        return fleet
    return Fleet(new, fleet.old).scaled(rollout, {new.key.name: rollout.replicas})


def _is_drained(podset: PodSet) -> bool:
    """Tell whether no pod is left; its controller must have looked since it was scaled."""
    status = podset.status
    return podset.is_observed and status.replicas == 0 and status.terminating_replicas == 0
