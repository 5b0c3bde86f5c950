"""Do many small things at once, but only so many, and end with all of them done."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def for_each(
    items: Iterable[T], act: Callable[[T], Awaitable[R]], *, at_once: int = 8
) -> list[R]:
    """Return the results in order; the first error is raised after all have ended."""
    gate = asyncio.Semaphore(at_once)

    async def guarded(item: T) -> R:
        async with gate:
            return await act(item)

    # gather() alone would leave the others running behind the caller's back after an error.
    results = await asyncio.gather(*map(guarded, items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
