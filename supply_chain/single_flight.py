"""One call for everybody who asks the same thing at the same time."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SingleFlight(Generic[K, V]):
    """Shares running calls by key; a caller who gives up does not stop it for the others."""

    def __init__(self) -> None:
        self._running: dict[K, asyncio.Task[V]] = {}

    async def run(self, key: K, make: Callable[[], Awaitable[V]]) -> V:
        """Return what `make` returns, or what the call already under way for the key does."""
        task = self._running.get(key)
        if task is None:
            task = asyncio.create_task(_called(make))
            self._running[key] = task
            task.add_done_callback(lambda done: self._ended(key, done))
        return await asyncio.shield(task)

    def __contains__(self, key: K) -> bool:
        return key in self._running

    def _ended(self, key: K, task: asyncio.Task[V]) -> None:
        del self._running[key]
        if not task.cancelled():
            task.exception()  # a failure that nobody waits for any more is no news


async def _called(make: Callable[[], Awaitable[V]]) -> V:
    return await make()
