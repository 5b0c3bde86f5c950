"""Lets a change of configuration come to rest before it rolls.

`kubectl apply -k` writes three ConfigMaps and then the Rollout: that is one change, not four. A
source that changes all the time rolls all the same, only not more often than the longest wait.
In memory: after a restart the wait begins anew, which costs a second.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from kube_runtime.clock import Clock
from kube_runtime.resource import Key

_LONGEST_WAIT: Final = 30


@dataclass(slots=True)
class _Change:
    what: Hashable
    first_seen: float
    last_changed: float


class Settling:
    """The changes that are waited for, by Rollout."""

    def __init__(self, quiet_seconds: float, clock: Clock) -> None:
        self._quiet_seconds = quiet_seconds
        self._clock = clock
        self._changes: dict[Key, _Change] = {}

    def seconds_left(self, key: Key, what: Hashable) -> float:
        """Tell how long to wait until this change is old enough; 0 when it is."""
        now = self._clock.monotonic()
        change = self._changes.setdefault(key, _Change(what, now, now))
        if change.what != what:
            change.what, change.last_changed = what, now
        quiet_at = change.last_changed + self._quiet_seconds
        latest = change.first_seen + self._quiet_seconds * _LONGEST_WAIT
        return max(0.0, min(quiet_at, latest) - now)

    def forget(self, key: Key) -> None:
        """Drop the change: it was taken up, taken back, or nobody asks any more."""
        self._changes.pop(key, None)
