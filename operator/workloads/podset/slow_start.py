"""Many creations at once, without a thousand failures when the first one already fails.

At any moment no more attempts have been made than twice the successes plus one: the window opens
from 1 as fast as successes come, and shuts for good at the first failure. Built-in controllers
do the same in batches of 1, 2, 4, 8 …, and wait for the slowest of each batch; this does not.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attempts(Generic[T]):
    """What became of the items: in order, those that went well, failed, or were not tried."""

    succeeded: tuple[T, ...]
    failed: tuple[tuple[T, Exception], ...]
    skipped: tuple[T, ...]


def may_start(*, successes: int, in_flight: int, max_in_flight: int) -> int:
    """Tell how many more attempts may begin now, as long as none has failed."""
    window = min(successes + 1, max_in_flight)
    return max(0, window - in_flight)


async def run_slow_start(
    items: Sequence[T],
    attempt: Callable[[T], Awaitable[None]],
    *,
    max_in_flight: int,
    expected_errors: type[Exception] | tuple[type[Exception], ...],
) -> Attempts[T]:
    """Attempt the items in order; other than the expected errors are raised."""
    return await _SlowStart(items, attempt, max_in_flight, expected_errors).run()


class _SlowStart(Generic[T]):
    def __init__(
        self,
        items: Sequence[T],
        attempt: Callable[[T], Awaitable[None]],
        max_in_flight: int,
        expected_errors: type[Exception] | tuple[type[Exception], ...],
    ) -> None:
        self._items = items
        self._attempt = attempt
        self._max_in_flight = max_in_flight
        self._expected_errors = expected_errors
        self._started = 0
        self._succeeded: list[T] = []
        self._failed: list[tuple[T, Exception]] = []

    async def run(self) -> Attempts[T]:
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._open_window()
        return Attempts(
            tuple(self._succeeded), tuple(self._failed), tuple(self._items[self._started :])
        )

    def _open_window(self) -> None:
        """Start what may start; each attempt calls this again when it has gone well."""
        if self._failed:
            return
        successes = len(self._succeeded)
        count = may_start(
            successes=successes,
            in_flight=self._started - successes,
            max_in_flight=self._max_in_flight,
        )
        for item in self._items[self._started : self._started + count]:
            self._started += 1
            self._group.create_task(self._try(item))

    async def _try(self, item: T) -> None:
        try:
            await self._attempt(item)
        except self._expected_errors as error:
            self._failed.append((item, error))
        else:
            self._succeeded.append(item)
            self._open_window()
