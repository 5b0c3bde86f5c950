"""How long pods have been waiting to leave, by Rollout.

Each pod that gets away starts the wait anew. In memory: after a restart it begins again, which only
makes a drain that is stuck wait longer.
"""

from dataclasses import dataclass
from datetime import datetime

from kube_runtime.resource import Key


@dataclass(slots=True)
class Wait:
    """Pods that have to leave, and since when none has."""

    count: int
    since: datetime

    def seconds(self, now: datetime) -> float:
        """Tell for how long nothing has moved."""
        return max(0.0, (now - self.since).total_seconds())


class Patience:
    """The waits of all Rollouts."""

    def __init__(self) -> None:
        self._waits: dict[Key, Wait] = {}

    def look(self, key: Key, count: int, now: datetime) -> Wait | None:
        """Note how many pods have to leave now; None when there is none."""
        if count == 0:
            self._waits.pop(key, None)
            return None
        wait = self._waits.setdefault(key, Wait(count, now))
        if count < wait.count:
            wait.since = now
        wait.count = count
        return wait

    def forget(self, key: Key) -> None:
        """Drop what is known of a Rollout that is gone."""
        self._waits.pop(key, None)
