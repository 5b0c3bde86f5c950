"""The API server's time, as far as its answers show that our own clock is off.

Pods carry dates of the API server; how long ago they were made must be counted on the same clock,
or one that jumped would end every back-off at once, or none for an hour.
"""

from datetime import datetime, timedelta
from typing import Final

from kube_runtime.clock import Clock
from kube_runtime.conditions import parse_time
from kube_runtime.resource import Json

# Dates have whole seconds and answers take their time: what is less says nothing of the clocks.
_TOLERANCE: Final = timedelta(seconds=10)


class ServerClock:
    """Our clock, put right by the date of the last object that was made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        """Tell the time that the API server would put on an object now."""
        return self._clock.now() - self._ahead

    def saw_created(self, obj: Json) -> None:
        """Compare the clocks by an object that was made just now."""
        created = parse_time(obj["metadata"].get("creationTimestamp"))
        if created is None:
            return
        ahead = self._clock.now() - created
        self._ahead = ahead if abs(ahead) > _TOLERANCE else timedelta(0)
