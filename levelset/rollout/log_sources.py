"""Which containers of which pods have a log, and how their lines are put together. Pure.

A container that was started again is another source: its log begins anew.
"""

import heapq
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kube_runtime.conditions import parse_time
from kube_runtime.resource import PODS, Json
from levelset.rollout import choosing
from levelset.rollout.errors import NoPod

_LONG_AGO: Final = datetime.min.replace(tzinfo=UTC)
_LONGEST_LINE: Final = 2**20


@dataclass(frozen=True, slots=True)
class Wish:
    """What the command line asks of each log."""

    container: str = ""
    all_containers: bool = False
    is_following: bool = False
    is_previous: bool = False
    has_timestamps: bool = False
    tail: int | None = None
    since_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """One container of one pod, from one of its starts to its end."""

    namespace: str
    pod: str
    container: str
    start: str = ""
    """Tells one start of the container from the next."""

    @property
    def path(self) -> str:
        """Where its log is served."""
        return PODS.path(namespace=self.namespace, name=self.pod, subresource="log")

    @property
    def prefix(self) -> bytes:
        """What its lines begin with when there are several sources, as kubectl writes it."""
        return f"[pod/{self.pod}/{self.container}] ".encode()

    def params(self, wish: Wish, *, is_new: bool = False) -> dict[str, str]:
        """Build the query; what started while we watched (`is_new`) is told from its beginning."""
        raw = {
            "container": self.container,
            "follow": "true" * wish.is_following,
            "previous": "true" * wish.is_previous,
            "timestamps": "true" * (wish.has_timestamps or not wish.is_following),
            "tailLines": "" if wish.tail is None or is_new else str(wish.tail),
            "sinceSeconds": "" if wish.since_seconds is None or is_new else str(wish.since_seconds),
        }
        return {key: value for key, value in raw.items() if value}


def sources_of(pods: Sequence[Json], wish: Wish) -> list[Source]:
    """Return what has a log now; raises NoPod when the container is in no pod."""
    if wish.container and pods:
        _check_container(pods, wish.container)
    return [
        Source(pod["metadata"]["namespace"], pod["metadata"]["name"], name, start)
        for pod in sorted(pods, key=_age)
        for name in _wished(pod, wish)
        if (start := _start(pod, name, is_previous=wish.is_previous))
    ]


async def lines_of(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Cut a stream into lines, each with its newline; one that is far too long comes in parts."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
        if len(rest) > _LONGEST_LINE:
            yield rest + b"\n"
            rest = b""
    if rest:
        yield rest + b"\n"


async def merged(
    logs: Sequence[tuple[Source, AsyncIterator[bytes]]],
) -> AsyncIterator[tuple[Source, bytes, bytes]]:
    """Put lines that begin with their time in order; yields the source, the time and the rest."""
    heads: list[tuple[datetime, int, bytes, bytes]] = []

    async def advance(index: int, before: datetime) -> None:
        line = await anext(logs[index][1], None)
        if line is not None:
            moment, stamp, text = _stamped(line, before)
            heapq.heappush(heads, (moment, index, stamp, text))

    for index in range(len(logs)):
        await advance(index, _LONG_AGO)
    while heads:
        moment, index, stamp, text = heapq.heappop(heads)
        yield logs[index][0], stamp, text
        await advance(index, moment)


def _stamped(line: bytes, before: datetime) -> tuple[datetime, bytes, bytes]:
    """Take the time off a line; one without, such as a complaint of the node, stays in its place."""
    stamp, blank, text = line.partition(b" ")
    moment = parse_time(stamp.decode("ascii", "replace"))
    if moment is None or not blank:
        return before, b"", line
    return max(moment, before), stamp + blank, text


def _check_container(pods: Sequence[Json], name: str) -> None:
    there = list(dict.fromkeys(each for pod in pods for each in choosing.container_names(pod)))
    if name not in there:
        raise NoPod(f"container {name!r} is in none of the pods; there are: {', '.join(there)}")


def _wished(pod: Json, wish: Wish) -> list[str]:
    if wish.all_containers:
        return choosing.container_names(pod)
    return [wish.container or choosing.default_container(pod)]


def _start(pod: Json, container: str, *, is_previous: bool) -> str:
    """Tell which start of the container has a log; "" when none has."""
    status = pod.get("status") or {}
    for field in ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"):
        for entry in status.get(field) or ():
            if entry.get("name") == container:
                return _start_of(entry, is_previous=is_previous)
    return ""


def _start_of(entry: Json, *, is_previous: bool) -> str:
    state = entry.get("state") or {}
    last = (entry.get("lastState") or {}).get("terminated")
    if is_previous:
        return str(last.get("containerID") or "previous") if last else ""
    if "running" in state or "terminated" in state:
        return str(entry.get("containerID") or f"start {entry.get('restartCount', 0)}")
    # Between two starts the log of the one that ended is served.
    return str(last.get("containerID") or "last") if last else ""


def _age(pod: Json) -> tuple[str, str]:
    return pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"]
