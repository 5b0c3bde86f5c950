"""The queue between "something changed" and "look at it": client-go's, for one event loop.

A key that waits is kept once; a key that is being worked on is never handed to a second worker,
and is taken up again afterwards if it was added meanwhile. Nothing added is ever dropped: errors
come back with a growing delay, for ever. Controllers own one each; handlers only call add().
Memory is bounded by the number of distinct keys, whatever is done to the queue.
Not thread-safe: call it from the loop's thread.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from kube_runtime.clock import SYSTEM_CLOCK, Clock, Timer
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation

K = TypeVar("K", bound=Hashable)

BASE_DELAY_SECONDS: Final = 0.005
# client-go waits up to 1000 s; after a long outage nothing should sleep on for a quarter of an hour.
MAX_DELAY_SECONDS: Final = 120.0
_MAX_DOUBLINGS: Final = 32


class QueueShutDown(Exception):  # noqa: N818 - a signal to the worker, like StopIteration
    """The queue gives out no more keys."""


class WorkQueue(Generic[K]):
    """A deduplicating queue with delayed adds and per-key exponential back-off."""

    def __init__(
        self,
        name: str,
        *,
        base_delay_seconds: float = BASE_DELAY_SECONDS,
        max_delay_seconds: float = MAX_DELAY_SECONDS,
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.name = name
        self._base_delay = base_delay_seconds
        self._max_delay = max_delay_seconds
        self._instrumentation = instrumentation
        self._clock = clock
        self._ready: deque[K] = deque()  # the keys to give out, oldest first
        self._dirty: dict[K, float] = {}  # every key that needs a worker, and since when
        self._processing: dict[K, float] = {}  # every key that has a worker, and since when
        self._delayed = _Delays[K]()
        self._failures: dict[K, int] = {}
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._timer: Timer | None = None
        self._timer_due = 0.0
        self._is_shut_down = False

    def add(self, key: K) -> None:
        """Ask for this key to be looked at, as soon as a worker is free."""
        if self._is_shut_down or key in self._dirty:
            return
        self._dirty[key] = self._clock.monotonic()
        self._instrumentation.queue_added(self.name)
        if key not in self._processing:
            self._make_ready(key)

    def add_after(self, key: K, seconds: float) -> None:
        """Ask for this key after a while; of several such wishes the earliest counts."""
        if seconds <= 0:
            self.add(key)
        elif not self._is_shut_down:
            self._delayed.put(key, self._clock.monotonic() + seconds)
            self._arm_timer()

    def add_rate_limited(self, key: K) -> None:
        """Ask for this key again after its back-off, which doubles each time until forget()."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        self._instrumentation.queue_retry(self.name)
        delay = self._base_delay * 2 ** min(failures, _MAX_DOUBLINGS)
        self.add_after(key, min(delay, self._max_delay))

    def forget(self, key: K) -> None:
        """Start the back-off of this key anew: it succeeded, or it is gone."""
        self._failures.pop(key, None)

    def failures(self, key: K) -> int:
        """Tell how often the key came back by add_rate_limited since the last forget()."""
        return self._failures.get(key, 0)

    async def get(self) -> K:
        """Wait for a key and hold it until done(key); raises QueueShutDown after shut_down()."""
        while not self._ready and not self._is_shut_down:
            await self._wait()
        if self._is_shut_down:
            raise QueueShutDown(self.name)
        return self._take()

    def done(self, key: K) -> None:
        """Let the key go; if it was added meanwhile, it is ready again at once."""
        since = self._processing.pop(key, None)
        if since is None:
            return
        self._instrumentation.work_duration(self.name, self._clock.monotonic() - since)
        if key in self._dirty:
            self._make_ready(key)

    @property
    def depth(self) -> int:
        """How many keys are ready and wait for a worker."""
        return len(self._ready)

    @property
    def delayed(self) -> int:
        """How many keys wait for their time."""
        return len(self._delayed)

    def unfinished(self) -> tuple[float, float]:
        """Tell how long the present work has taken so far: the sum, and the longest."""
        now = self._clock.monotonic()
        ages = [now - since for since in self._processing.values()]
        return sum(ages), max(ages, default=0.0)

    def shut_down(self) -> None:
        """Give out no more keys and take no more; whoever waits in get() is told."""
        self._is_shut_down = True
        if self._timer is not None:
            self._timer.cancel()
        while self._waiters:
            self._wake_one()

    def _make_ready(self, key: K) -> None:
        self._ready.append(key)
        self._instrumentation.queue_depth(self.name, len(self._ready))
        self._wake_one()

    def _take(self) -> K:
        key = self._ready.popleft()
        now = self._clock.monotonic()
        self._instrumentation.queue_depth(self.name, len(self._ready))
        self._instrumentation.queue_latency(self.name, now - self._dirty.pop(key))
        self._processing[key] = now
        return key

    async def _wait(self) -> None:
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._wake_one()  # we were woken and cannot come: the key is somebody else's
            elif waiter in self._waiters:
                self._waiters.remove(waiter)
            raise

    def _wake_one(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def _arm_timer(self) -> None:
        due = self._delayed.next_due()
        if due is None or (self._timer is not None and self._timer_due <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due = due
        self._timer = self._clock.call_later(due - self._clock.monotonic(), self._add_due)

    def _add_due(self) -> None:
        self._timer = None
        for key in self._delayed.pop_due(self._clock.monotonic()):
            self.add(key)
        self._arm_timer()


class _Delays(Generic[K]):
    """The keys that wait for their time: a heap with one living entry for each key."""

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        self._heap: list[tuple[float, int, K]] = []
        self._sequence = 0

    def __len__(self) -> int:
        return len(self._due)

    def put(self, key: K, due: float) -> None:
        present = self._due.get(key)
        if present is not None and present <= due:
            return
        self._due[key] = due
        self._sequence += 1  # keys need not be comparable
        heapq.heappush(self._heap, (due, self._sequence, key))
        if len(self._heap) > 2 * len(self._due) + 16:
            self._drop_superseded()

    def next_due(self) -> float | None:
        while self._heap and not self._is_current(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> list[K]:
        keys = []
        while (due := self.next_due()) is not None and due <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._due[key]
            keys.append(key)
        return keys

    def _is_current(self, entry: tuple[float, int, K]) -> bool:
        return self._due.get(entry[2]) == entry[0]

    def _drop_superseded(self) -> None:
        self._heap = [entry for entry in self._heap if self._is_current(entry)]
        heapq.heapify(self._heap)
