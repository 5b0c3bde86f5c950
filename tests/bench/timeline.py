"""Follows the pods of a namespace by a watch of its own: when each one came on, and how many there were.

A bench says which object may have how many pods; what went over or under that at any instant is
remembered. Times are those of the watcher, in seconds since the stage began.
"""

import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kube_runtime.api import ApiClient
from kube_runtime.resource import Json, is_deleting, labels_of, uid_of
from tests.pod_watch import following_pods

_PERCENTILES = ((0.5, "p50"), (0.99, "p99"))


@dataclass(slots=True)
class _Count:
    """The pods of one object."""

    active: int = 0
    ready: int = 0
    most: int | None = None
    fewest: int | None = None


@dataclass(slots=True)
class _Seen:
    """What is known of one pod."""

    count: _Count
    is_scheduled: bool = False
    is_ready: bool = False
    is_active: bool = True


@dataclass
class Timeline:
    """The pods of a namespace, and the moments of this stage."""

    start: float = 0.0
    created: list[float] = field(default_factory=list)
    scheduled: list[float] = field(default_factory=list)
    ready: list[float] = field(default_factory=list)
    deleted: list[float] = field(default_factory=list)
    over: int = 0
    under: int = 0
    _pods: dict[str, _Seen] = field(default_factory=dict)
    _counts: dict[str, _Count] = field(default_factory=dict)

    @property
    def present(self) -> int:
        """How many pods there are, terminating ones included."""
        return len(self._pods)

    def begin(self) -> None:
        """Begin a stage: forget the moments, not the pods."""
        self.start = time.monotonic()
        self.over = self.under = 0
        for moments in (self.created, self.scheduled, self.ready, self.deleted):
            moments.clear()

    def allow(self, app: str, *, most: int, fewest: int | None = None) -> None:
        """Say how many active pods an object may have, and how many must be ready from now on."""
        count = self._counts.setdefault(app, _Count())
        count.most, count.fewest = most, fewest

    def figures(self) -> dict[str, float]:
        """Sum the stage up: p50 and p99 of what has happened in it, pods over and under."""
        figures: dict[str, float] = {}
        moments = {
            "created": self.created,
            "scheduled": self.scheduled,
            "ready": self.ready,
            "deleted": self.deleted,
        }
        for name, times in moments.items():
            for share, label in _PERCENTILES if times else ():
                figures[f"{name} {label} s"] = _percentile(times, share)
        return figures | {"pods over": self.over, "pods under": self.under}

    def note(self, type_: str, pod: Json) -> None:
        now, uid = time.monotonic() - self.start, uid_of(pod)
        seen = self._pods.get(uid)
        if type_ == "DELETED":
            self._end(self._pods.pop(uid, None), now)
            return
        if seen is None:
            seen = self._pods[uid] = _Seen(self._counts.setdefault(_app(pod), _Count()))
            self._come(seen.count, now)
        if is_deleting(pod):
            self._end(seen, now)
            return
        if not seen.is_scheduled and pod["spec"].get("nodeName"):
            seen.is_scheduled = True
            self.scheduled.append(now)
        if not seen.is_ready and _is_ready(pod):
            seen.is_ready = True
            seen.count.ready += 1
            self.ready.append(now)

    def _come(self, count: _Count, now: float) -> None:
        self.created.append(now)
        count.active += 1
        if count.most is not None:
            self.over = max(self.over, count.active - count.most)

    def _end(self, seen: _Seen | None, now: float) -> None:
        if seen is None or not seen.is_active:
            return
        seen.is_active = False
        self.deleted.append(now)
        seen.count.active -= 1
        seen.count.ready -= seen.is_ready
        if seen.count.fewest is not None:
            self.under = max(self.under, seen.count.fewest - seen.count.ready)


@asynccontextmanager
async def following(api: ApiClient, namespace: str) -> AsyncIterator[Timeline]:
    """Follow until the end of the block; a watch that fails fails the block."""
    timeline = Timeline(start=time.monotonic())
    async with following_pods(api, namespace, timeline.note):
        yield timeline


def _percentile(times: list[float], share: float) -> float:
    if len(times) == 1:
        return round(times[0], 2)
    return round(statistics.quantiles(times, n=100, method="inclusive")[round(share * 100) - 1], 2)


def _app(pod: Json) -> str:
    return labels_of(pod).get("app", "")


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)
