"""How many pods more and fewer there may be during a rollout, and who gets how many.

Percentages of maxSurge round up, of maxUnavailable down, so that a rollout can always move.
Whole numbers all through: nothing here can overflow or lose a pod to a float. Pure.
"""

from typing import Final

from workloads.rollout.resources import Rollout, StrategyType

_WHOLE: Final = 100


def max_surge(rollout: Rollout) -> int:
    """Tell how many pods more than spec.replicas there may be."""
    if rollout.strategy is StrategyType.RECREATE:
        return 0
    return _of(rollout.max_surge, rollout.replicas, round_up=True)


def max_unavailable(rollout: Rollout) -> int:
    """Tell how many pods fewer than spec.replicas may be available."""
    if rollout.strategy is StrategyType.RECREATE or rollout.replicas == 0:
        return 0
    unavailable = _of(rollout.max_unavailable, rollout.replicas, round_up=False)
    if unavailable == 0 and max_surge(rollout) == 0:
        return 1  # both rounded to nothing: without this no pod could ever be replaced
    return min(unavailable, rollout.replicas)


def min_available(rollout: Rollout) -> int:
    """Tell how many pods must stay available."""
    return rollout.replicas - max_unavailable(rollout)


def max_replicas(rollout: Rollout) -> int:
    """Tell how many pods there may be at most; none when none are wanted."""
    return rollout.replicas + max_surge(rollout) if rollout.replicas > 0 else 0


def share(replicas: int, *, size: int, of_size: int) -> int:
    """Grow or shrink a part in proportion as the whole goes from of_size to size; half rounds up."""
    return (2 * replicas * size + of_size) // (2 * of_size)


def part_of(value: int | str, replicas: int) -> int:
    """Resolve the size of a step: a number, or a percentage that rounds up; never more than all."""
    return min(replicas, _of(value, replicas, round_up=True))


def _of(value: int | str, replicas: int, *, round_up: bool) -> int:
    """Resolve a number or a percentage of spec.replicas."""
    if isinstance(value, int):
        return value
    product = int(value.removesuffix("%")) * replicas
    return -(-product // _WHOLE) if round_up else product // _WHOLE
