"""RollingUpdate: one move up or down, never both, within maxSurge and maxUnavailable.

Up while there is room above; otherwise down among the old ones, the broken first. The step of
spec.steps that the revision is at bounds both: so many new ones, and no fewer old ones than are
missing from the whole. Pure.
"""

from workloads.rollout import maths
from workloads.rollout.fleet import Fleet
from workloads.rollout.plan.steps import limit
from workloads.rollout.resources import PodReplacementPolicy, Rollout


def roll(rollout: Rollout, fleet: Fleet) -> Fleet:
    """Take the next step; the same fleet comes back when there is nothing to do."""
    if fleet.new is None:
        return fleet
    size = new_replicas(rollout, fleet)
    if size != fleet.new.replicas:
        return fleet.scaled(rollout, {fleet.new.key.name: size})
    return _scale_down_old(rollout, fleet)


def new_replicas(rollout: Rollout, fleet: Fleet) -> int:
    """Tell how large the new PodSet may be now; it only shrinks when spec.replicas did.

    It does not grow before the old ones have answered to their last change: one that was told to
    grow and then to shrink again may have more pods than it has told of.
    """
    present = fleet.new.replicas if fleet.new is not None else 0
    if present >= rollout.replicas:
        return rollout.replicas
    if fleet.new in fleet.shrinking or not all(podset.is_observed for podset in fleet.old):
        return present
    grow = min(room_above(rollout, fleet), limit(rollout, fleet) - present)
    return present + max(0, grow)


def room_above(rollout: Rollout, fleet: Fleet) -> int:
    """Tell how many pods may be added; negative when there are too many already.

    Upstream counts what is wanted only, and so exceeds maxSurge for as long as pods take to go.
    """
    room = maths.max_replicas(rollout) - fleet.running
    if rollout.pod_replacement_policy is PodReplacementPolicy.TERMINATION_COMPLETE:
        return room - fleet.terminating
    return room


def _scale_down_old(rollout: Rollout, fleet: Fleet) -> Fleet:
    new = fleet.new
    new_unavailable = new.replicas - new.status.available_replicas if new is not None else 0
    above_step = _above_step(rollout, fleet)
    room = fleet.replicas - maths.min_available(rollout) - max(0, new_unavailable)
    room = min(room, above_step)
    if room <= 0:
        return fleet
    sizes = _without_broken({podset.key.name: podset.replicas for podset in fleet.old}, fleet, room)
    # Broken pods were not available, so their going leaves as many available ones to spare.
    spare = fleet.available - maths.min_available(rollout)
    taken = sum(podset.replicas for podset in fleet.old) - sum(sizes.values())
    sizes = _without_spare(sizes, min(spare, above_step - taken))
    changed = {
        podset.key.name: sizes[podset.key.name]
        for podset in fleet.old
        if sizes[podset.key.name] != podset.replicas
    }
    return fleet.scaled(rollout, changed) if changed else fleet


def _above_step(rollout: Rollout, fleet: Fleet) -> int:
    """Tell how many old pods are more than the step leaves to them."""
    old = sum(podset.replicas for podset in fleet.old)
    return old - (rollout.replicas - limit(rollout, fleet))


def _without_broken(sizes: dict[str, int], fleet: Fleet, room: int) -> dict[str, int]:
    """Take away pods that are not available, from the oldest PodSet on."""
    result = dict(sizes)
    for podset in fleet.old:
        broken = max(0, podset.replicas - podset.status.available_replicas)
        taken = min(broken, room)
        result[podset.key.name] -= taken
        room -= taken
    return result


def _without_spare(sizes: dict[str, int], spare: int) -> dict[str, int]:
    """Take away available pods that are not needed, from the oldest PodSet on."""
    result = dict(sizes)
    for name, size in sizes.items():
        taken = max(0, min(size, spare))
        result[name] = size - taken
        spare -= taken
    return result
