"""Never a hot loop: how long to wait for the next pod when the last ones failed at once.

The pods that ended before they were ever ready are the only memory, so that a restart changes
nothing and whoever deletes them starts afresh. Times are compared by creation, which one clock
wrote, the API server's: waiting twice as long as it has been failing is an exponential back-off
without a counter. Pure.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from workloads.pods import LONG_AGO, Pod

FIRST_DELAY: Final = timedelta(seconds=3)
LONGEST_DELAY: Final = timedelta(minutes=5)
PATIENCE: Final = timedelta(seconds=20)
"""How long pods made since the last failure may need, before others are made beside them."""
# Two failures further apart than this have nothing to do with each other.
_MEMORY: Final = 2 * LONGEST_DELAY
EVIDENCE: Final = 10
"""How many ended pods are kept to be looked at."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """What the failed pods ask for."""

    failed: tuple[Pod, ...] = ()
    """Those that count, the newest last."""
    until: datetime | None = None
    """No pod is to be made before."""
    batch: int = 1
    """How many may be made then."""

    def allowed(self, missing: int, now: datetime) -> int:
        """Tell how many of the missing pods may be made now."""
        if self.until is None:
            return missing
        return min(missing, self.batch) if now >= self.until else 0


NO_BACKOFF: Final = Backoff()


def backoff_of(pods: Collection[Pod], now: datetime) -> Backoff:
    """Look at the failed pods of a PodSet, and at those made since."""
    candidates = [pod for pod in pods if _counts(pod)]
    failed = _streak(candidates, since=_newest_success(pods), now=now) if candidates else ()
    if not failed:
        return NO_BACKOFF
    first, last = _created(failed[0]), _created(failed[-1])
    later = [_created(pod) for pod in pods if pod.is_active and _created(pod) > last]
    until = last + min(max(2 * (last - first), FIRST_DELAY), LONGEST_DELAY)
    if later:
        until = max(until, max(later) + PATIENCE)
    if until - now > LONGEST_DELAY + PATIENCE:
        until = now  # a clock is wrong: the next pod that is made shows by how much
    return Backoff(failed, until, batch=max(1, len(later)))


def superfluous_evidence(pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Choose the ended pods that nobody needs to look at any more: all but the newest."""
    ended = [pod for pod in pods if pod.is_terminal and not pod.is_deleting]
    if len(ended) <= EVIDENCE:
        return ()
    return tuple(sorted(ended, key=evidence_key)[:-EVIDENCE])


def evidence_key(pod: Pod) -> tuple[datetime, str]:
    """Sort ended pods by when they ended, as far as that is known."""
    created, name = pod.age_key
    return max(created, pod.ended or created), name


def _streak(failed: Iterable[Pod], *, since: datetime, now: datetime) -> tuple[Pod, ...]:
    """Return the failures that belong together, up to one that is not long ago."""
    failed = sorted((pod for pod in failed if _created(pod) >= since), key=lambda pod: pod.age_key)
    later, start = now, len(failed)
    while start and later - _created(failed[start - 1]) <= _MEMORY:
        start -= 1
        later = _created(failed[start])
    return tuple(failed[start:])


def _counts(pod: Pod) -> bool:
    return (
        pod.is_terminal
        and pod.created is not None
        and not (pod.is_deleting or pod.has_been_ready or pod.is_disruption_target)
    )


def _newest_success(pods: Iterable[Pod]) -> datetime:
    """Tell from when on a failure counts: what failed before a pod that is ready is the past."""
    ready = (_created(pod) for pod in pods if pod.is_active and pod.is_ready)
    return max(ready, default=LONG_AGO)


def _created(pod: Pod) -> datetime:
    return pod.age_key[0]
