"""Which pods go first when there are too many.

The order of the built-in ReplicaSet controller, written as one sort key: the pod that would be
missed least comes first. Ages are compared in powers of two, so that not always the youngest goes
and pods spread over nodes stay spread. Unlike upstream, whose pairwise rule can run in circles
when ages tie, this is a total order. And pods on nodes that are being emptied go before the cost
is asked for: they must go soon anyway, and to take another would take two. Pure.
"""

import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from kube_runtime.resource import Uid
from workloads.pods import Pod

RankKey: TypeAlias = tuple[bool, int, bool, bool, int, int, int, int, int, int, Uid]

_PHASE_ORDER: Final[Mapping[str, int]] = {"Pending": 0, "Unknown": 1, "Running": 2}
_UNKNOWN_PHASE: Final = 1
_YOUNGEST: Final = -2


def rank_for_deletion(
    pods: Iterable[Pod],
    *,
    related_on_node: Mapping[str, int],
    now: datetime,
    disrupted_nodes: frozenset[str] = frozenset(),
) -> list[Pod]:
    """Sort the pods, the first to be deleted first."""
    return sorted(pods, key=lambda pod: deletion_key(pod, related_on_node, now, disrupted_nodes))


def deletion_key(
    pod: Pod,
    related_on_node: Mapping[str, int],
    now: datetime,
    disrupted_nodes: frozenset[str] = frozenset(),
) -> RankKey:
    """Build the sort key of one pod; smaller goes first."""
    return (
        pod.node != "",
        _PHASE_ORDER.get(pod.phase, _UNKNOWN_PHASE),
        pod.is_ready,
        not is_disrupted(pod, disrupted_nodes),
        pod.deletion_cost,
        -related_on_node.get(pod.node, 0),
        _age_bucket(pod.ready_since, now) if pod.is_ready else 0,
        -pod.restarts,
        -pod.sidecar_restarts,
        _age_bucket(pod.created, now),
        pod.uid,
    )


def is_disrupted(pod: Pod, disrupted_nodes: frozenset[str]) -> bool:
    """Tell whether the pod must soon give way, for a reason outside itself."""
    return pod.is_disruption_target or pod.node in disrupted_nodes


def _age_bucket(since: datetime | None, now: datetime) -> int:
    """Round an age down to a power of two of nanoseconds; an unknown age is the youngest."""
    if since is None:
        return _YOUNGEST
    nanoseconds = (now - since).total_seconds() * 1e9
    return int(math.log2(nanoseconds)) if nanoseconds >= 1 else -1
