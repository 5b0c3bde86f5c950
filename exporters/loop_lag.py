"""How late the event loop is: the first thing to look at when a controller is slow.

The server runs this beside itself in every process.
"""

from __future__ import annotations

import asyncio
from typing import Final

from exporters.instrument import Instruments

_INTERVAL_SECONDS: Final = 0.5


async def watch_loop_lag(instruments: Instruments) -> None:
    """Sleep and observe by how much each sleep was longer than asked; until cancelled."""
    lag = instruments.histogram("levelset_event_loop_lag_seconds")
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + _INTERVAL_SECONDS
        await asyncio.sleep(_INTERVAL_SECONDS)
        lag.observe(max(0.0, loop.time() - due))
