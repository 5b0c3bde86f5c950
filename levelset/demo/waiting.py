"""Waiting with a deadline for something in the cluster to become true; says what it saw last when it does not."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from levelset.demo.errors import DemoFailedError

_POLL_SECONDS = 0.1


async def until(
    what: str, look: Callable[[], Awaitable[str]], *, timeout_seconds: float = 60.0
) -> float:
    """Poll `look` until it returns "", which means done, else what is missing; return the seconds."""
    began = time.monotonic()
    while missing := await look():
        waited = time.monotonic() - began
        if waited > timeout_seconds:
            raise DemoFailedError(f"{what}: not so after {waited:.0f} s; {missing}")
        await asyncio.sleep(_POLL_SECONDS)
    return time.monotonic() - began
