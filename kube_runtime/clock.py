"""Time as a parameter: the real clock, and one that tests move by hand.

Whoever waits, measures or dates something takes a Clock, so that its tests never sleep.
now() is for dates that are written down, monotonic() for every duration and deadline.
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

_SINCE_BOOT: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Timer(Protocol):
    """A call that is due later."""

    def cancel(self) -> None:
        """Forget the call; harmless when it has happened."""


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> datetime:
        """Tell the date, in UTC."""

    def monotonic(self) -> float:
        """Tell the seconds since some moment; never goes back."""

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back once on the running loop, so many seconds from now."""

    async def sleep(self, seconds: float) -> None:
        """Wait so many seconds."""


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Tell the date, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Tell the seconds since boot, suspended time included where the system can tell it.

        Python's own monotonic clock stands still while a machine sleeps, and a leader that woke up
        would believe in its lease.
        """
        return time.clock_gettime(_SINCE_BOOT)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call back once on the running loop."""
        return asyncio.get_running_loop().call_later(seconds, callback)

    async def sleep(self, seconds: float) -> None:
        """Wait on the running loop."""
        await asyncio.sleep(seconds)


SYSTEM_CLOCK: Final[Clock] = SystemClock()


@dataclass(slots=True)
class Limit:
    """Tells, after a deadline() block, whether it was the deadline that ended it."""

    expired: bool = False


@asynccontextmanager
async def deadline(clock: Clock, seconds: float) -> AsyncIterator[Limit]:
    """Raise TimeoutError when the block takes longer by this clock: asyncio.timeout, fakeable."""
    limit = Limit()
    async with asyncio.timeout(None) as scope:

        def expire() -> None:
            limit.expired = True
            scope.reschedule(0)

        timer = clock.call_later(seconds, expire)
        try:
            yield limit
        finally:
            timer.cancel()


class _FakeTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class FakeClock:
    """A clock that stands still until a test moves it."""

    # Enough turns of the loop for a chain of a few awaits to run to its next wait.
    _TURNS = 20

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._order = itertools.count()
        self._timers: list[tuple[float, int, _FakeTimer]] = []

    def now(self) -> datetime:
        """Tell the start date plus what the test has let pass."""
        return self._start + timedelta(seconds=self._elapsed)

    def monotonic(self) -> float:
        """Tell the seconds that the test has let pass."""
        return self._elapsed

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Keep the call until the test has moved the clock far enough."""
        timer = _FakeTimer(callback)
        due = self._elapsed + max(0.0, seconds)
        heapq.heappush(self._timers, (due, next(self._order), timer))
        return timer

    async def sleep(self, seconds: float) -> None:
        """Wait until the test has moved the clock far enough."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        woken = asyncio.Event()
        timer = self.call_later(seconds, woken.set)
        try:
            await woken.wait()
        finally:
            timer.cancel()

    def shift(self, seconds: float) -> None:
        """Move the clock and fire what is due, in order, without giving the loop a turn."""
        end = self._elapsed + seconds
        while self._fire_next(until=end):
            pass
        self._elapsed = end

    async def advance(self, seconds: float) -> None:
        """Move the clock and let the tasks run at each moment at which something is due."""
        end = self._elapsed + seconds
        await self.settle()
        while self._fire_next(until=end):
            await self.settle()
        self._elapsed = end
        await self.settle()

    async def settle(self) -> None:
        """Let the tasks of the loop run until they wait for something."""
        for _ in range(self._TURNS):
            await asyncio.sleep(0)

    def _fire_next(self, *, until: float) -> bool:
        """Fire the earliest timer due by then; False when there is none."""
        while self._timers and self._timers[0][0] <= until:
            due, _, timer = heapq.heappop(self._timers)
            callback, timer.callback = timer.callback, None
            if callback is not None:
                self._elapsed = max(self._elapsed, due)
                callback()
                return True
        return False
