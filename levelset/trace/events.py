"""Reads events: when, how often, what about; of both forms that recorders write. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kube_runtime.conditions import parse_time
from kube_runtime.resource import Json

_CONTAINER: Final = re.compile(r"spec\.containers\{(.+)\}")
_DURATION: Final = re.compile(
    r"\bin ((?:[\d.]+(?:h|ms|m|s|us|µs))+)(?: \(([\d.hmsuµ]+) including)?"
)
_PART: Final = re.compile(r"([\d.]+)(h|ms|m|us|µs|s)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_SIZE: Final = re.compile(r"Image size: (\d+) bytes")


@dataclass(frozen=True, slots=True)
class Event:
    """One event, with its repetitions."""

    reason: str
    message: str
    first: datetime | None
    last: datetime | None
    count: int
    container: str = ""
    """The container that it is about; "" for the pod as a whole and for init containers."""

    @property
    def text(self) -> str:
        """Write it in one line."""
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.reason}{times}: {one_line(self.message)}"


def events_of(raw: Iterable[Json], uid: str) -> list[Event]:
    """Return the events about one object, the oldest first."""
    found = [
        _parse(event) for event in raw if (event.get("involvedObject") or {}).get("uid") == uid
    ]
    return sorted(found, key=lambda event: (event.first is None, event.first))


def last_of(events: Sequence[Event], *reasons: str) -> Event | None:
    """Return the latest event with one of these reasons."""
    found = [event for event in events if event.reason in reasons]
    return max(found, key=lambda event: (event.last is not None, event.last), default=None)


def pull_seconds(message: str) -> float | None:
    """Read how long a pull took, waiting for other pulls included."""
    found = _DURATION.search(message)
    if found is None:
        return None
    text = found.group(2) or found.group(1)
    return round(sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text)), 6)


def pulled_megabytes(message: str) -> float | None:
    """Read the size of the image that was pulled."""
    found = _SIZE.search(message)
    return int(found.group(1)) / 1e6 if found else None


def one_line(text: str, *, most: int = 300) -> str:
    """Bring a message of anybody's onto one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _parse(raw: Json) -> Event:
    series: Json = raw.get("series") or {}
    first = parse_time(raw.get("firstTimestamp")) or parse_time(raw.get("eventTime"))
    last = parse_time(series.get("lastObservedTime")) or parse_time(raw.get("lastTimestamp"))
    field_path = (raw.get("involvedObject") or {}).get("fieldPath") or ""
    about = _CONTAINER.fullmatch(field_path)
    return Event(
        reason=raw.get("reason") or "",
        message=raw.get("message") or "",
        first=first,
        last=last or first,
        count=series.get("count") or raw.get("count") or 1,
        container=about.group(1) if about else "",
    )
