"""Decides which events become objects: repeats become a series, chatter about one object is cut.

The figures are those of client-go's correlator: identical events are one series, more than ten
that differ only in their text are combined, and one object may cause 25 writes in a row and then
one each five minutes. A write that is cut still counts: the next one of its series tells the sum.
Used by events.py alone. Pure: the time is passed in. Memory is bounded by forgetting the oldest.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BURST: Final = 25
REFILL_SECONDS: Final = 300.0
SIMILAR_LIMIT: Final = 10
SIMILAR_SECONDS: Final = 600.0
# The API server forgets an event after an hour; a series must not go on in one that is gone.
SERIES_SECONDS: Final = 3000.0
CACHE_SIZE: Final = 4096
COMBINED_PREFIX: Final = "(combined from similar events): "


class Subject(NamedTuple):
    """What makes two events similar: all but their text."""

    uid: str
    type: str
    reason: str
    action: str


class Decision(NamedTuple):
    """What to write: a new object of this name the first time, then a patch of its series."""

    name: str
    note: str
    times: int


@dataclass(slots=True)
class _Series:
    name: str
    started: float
    count: int = 0


@dataclass(slots=True)
class _Similar:
    since: float
    notes: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class _Recent(Generic[K, V]):
    """A mapping that forgets what was not used for longest."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        if key not in self._entries:
            self._entries[key] = make()
        self._entries.move_to_end(key)
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)
        return self._entries[key]

    def drop(self, key: K) -> None:
        self._entries.pop(key, None)

    def __len__(self) -> int:
        return len(self._entries)


class EventSeries:
    """The memory of recent events."""

    def __init__(self, *, cache_size: int = CACHE_SIZE) -> None:
        self._series: _Recent[tuple[Subject, str], _Series] = _Recent(cache_size)
        self._similar: _Recent[Subject, _Similar] = _Recent(cache_size)
        self._buckets: _Recent[str, _Bucket] = _Recent(cache_size)

    def observe(self, subject: Subject, note: str, *, name: str, now: float) -> Decision | None:
        """Take one event in; None when it is not to be written. `name` is for a new object."""
        note = self._combined(subject, note, now)
        series = self._series.get((subject, _stem(note)), lambda: _Series(name, now))
        if now - series.started > SERIES_SECONDS:
            series = self.restart(subject, note, name=name, now=now, count=0)
        series.count += 1
        if not self._spend(subject.uid, now):
            if series.count == 1:
                self.forget(subject, note)  # there is no object that a later one could count on
            return None
        return Decision(series.name, note, series.count)

    def restart(
        self, subject: Subject, note: str, *, name: str, now: float, count: int = 1
    ) -> _Series:
        """Go on in an object of this name: the one of the series is not there any more."""
        self.forget(subject, note)
        return self._series.get((subject, _stem(note)), lambda: _Series(name, now, count))

    def forget(self, subject: Subject, note: str) -> None:
        """Start the series anew next time: its object was never written."""
        self._series.drop((subject, _stem(note)))

    def _combined(self, subject: Subject, note: str, now: float) -> str:
        similar = self._similar.get(subject, lambda: _Similar(now))
        if now - similar.since > SIMILAR_SECONDS:
            similar.since, similar.notes = now, set()
        if len(similar.notes) <= SIMILAR_LIMIT:
            similar.notes.add(note)
        return note if len(similar.notes) <= SIMILAR_LIMIT else COMBINED_PREFIX + note

    def _spend(self, uid: str, now: float) -> bool:
        bucket = self._buckets.get(uid, lambda: _Bucket(BURST, now))
        refill = (now - bucket.filled) / REFILL_SECONDS
        bucket.tokens, bucket.filled = min(BURST, bucket.tokens + refill), now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _stem(note: str) -> str:
    """All combined events of a subject are one series, whatever their text."""
    return COMBINED_PREFIX if note.startswith(COMBINED_PREFIX) else note
