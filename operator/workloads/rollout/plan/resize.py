"""A change of spec.replicas, also in the middle of a rollout: everybody gets a share.

The spec that a PodSet was sized for is noted on it; a note that differs from the spec is a resize.
Every resize ends with all notes put right, so that none is taken for one again: upstream can
forget that on one path and then hangs in it for ever. Pure.
"""

from workloads.podset.resources import PodSet
from workloads.rollout import maths
from workloads.rollout.fleet import Fleet, age_key, desired_replicas, noted_max_replicas
from workloads.rollout.plan.aim import good_podset
from workloads.rollout.plan.rolling import room_above
from workloads.rollout.plan.steps import limit
from workloads.rollout.resources import PodReplacementPolicy, Rollout, StrategyType


def resize(rollout: Rollout, fleet: Fleet) -> Fleet:
    """Spread a changed spec.replicas; the same fleet comes back when it has not changed."""
    is_resized = any(
        desired_replicas(podset) not in (None, rollout.replicas) for podset in fleet.active
    )
    if not (is_resized or rollout.is_paused):
        return fleet
    if len(fleet.active) <= 1:
        return _resize_one(rollout, fleet)
    return _spread(rollout, fleet) if is_resized else fleet


def _resize_one(rollout: Rollout, fleet: Fleet) -> Fleet:
    """Give everything to the one that has pods, or else to the newest."""
    target = next(iter(fleet.active), _idle(rollout, fleet))
    if target is None:
        return fleet
    if desired_replicas(target) in (None, rollout.replicas) and target.replicas == rollout.replicas:
        return fleet
    add = _within_capacity(rollout, fleet, rollout.replicas - target.replicas)
    sizes = {target.key.name: target.replicas + add}
    if sizes[target.key.name] != rollout.replicas:
        return fleet.resized(sizes)  # without a note: the rest follows when there is room
    return fleet.scaled(rollout, sizes)


def _idle(rollout: Rollout, fleet: Fleet) -> PodSet | None:
    """Choose who gets pods when nobody has any: not a revision that has steps before it."""
    if limit(rollout, fleet) < rollout.replicas:
        good = good_podset(rollout, fleet)
        if good is not None:
            return good
    return fleet.new or next(reversed(fleet.old), None)


def _spread(rollout: Rollout, fleet: Fleet) -> Fleet:
    sizes = {podset.key.name: podset.replicas for podset in fleet.active}
    if _is_saturated(rollout, fleet.new):
        zeros = {podset.key.name: 0 for podset in fleet.old if podset.replicas > 0}
        return fleet.scaled(rollout, sizes | zeros)
    if rollout.strategy is not StrategyType.ROLLING_UPDATE:
        return fleet.scaled(rollout, sizes)
    wanted = maths.max_replicas(rollout) - fleet.replicas
    if wanted > 0 and fleet.shrinking:
        return fleet
    add = _within_capacity(rollout, fleet, wanted)
    sizes = _proportional(rollout, fleet, add)
    return fleet.scaled(rollout, sizes) if add == wanted else fleet.resized(sizes)


def _within_capacity(rollout: Rollout, fleet: Fleet, add: int) -> int:
    """Bound a growth by what terminating pods leave, where they are to be waited for."""
    if rollout.pod_replacement_policy is PodReplacementPolicy.TERMINATION_STARTED:
        return add
    return min(add, max(0, room_above(rollout, fleet)))


def _is_saturated(rollout: Rollout, new: PodSet | None) -> bool:
    return (
        new is not None
        and desired_replicas(new) == rollout.replicas == new.replicas
        and new.status.available_replicas == rollout.replicas
    )


def _proportional(rollout: Rollout, fleet: Fleet, add: int) -> dict[str, int]:
    """Spread the difference over the active ones by their size; the largest takes the rest."""
    by_size = sorted(fleet.active, key=age_key, reverse=add > 0)
    by_size.sort(key=lambda podset: -podset.replicas)
    sizes, added = {}, 0
    for podset in by_size:
        part = _part(rollout, podset, add, left=add - added)
        sizes[podset.key.name] = podset.replicas + part
        added += part
    largest = by_size[0].key.name
    sizes[largest] = max(0, sizes[largest] + add - added)
    return _within_step(rollout, fleet, sizes)


def _within_step(rollout: Rollout, fleet: Fleet, sizes: dict[str, int]) -> dict[str, int]:
    """Give what is more than the step allows to the largest of the old ones."""
    old = [podset for podset in fleet.old if podset.key.name in sizes]
    if fleet.new is None or not old or fleet.new.key.name not in sizes:
        return sizes
    name, most = fleet.new.key.name, max(limit(rollout, fleet), fleet.new.replicas)
    excess = max(0, sizes[name] - most)
    largest = max(old, key=lambda podset: podset.replicas).key.name
    return sizes | {name: sizes[name] - excess, largest: sizes[largest] + excess}


def _part(rollout: Rollout, podset: PodSet, add: int, *, left: int) -> int:
    if add == 0:
        return 0
    part = _fraction(rollout, podset)
    return min(part, left) if add > 0 else max(part, left)


def _fraction(rollout: Rollout, podset: PodSet) -> int:
    if rollout.replicas == 0:
        return -podset.replicas
    size_before = noted_max_replicas(podset) or rollout.status.replicas
    if size_before == 0:
        return 0
    size = maths.max_replicas(rollout)
    return maths.share(podset.replicas, size=size, of_size=size_before) - podset.replicas
