"""Bad weather between the controllers and the API server, by the proxy of tests/faults.

Each weather lasts a second or so and gives the proxy orders; all are taken back when it ends.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from tests.chaos.tally import Tally
from tests.faults import faults
from tests.faults.proxy import LISTS, WATCHES, WRITES, Exchange, Fault, FaultProxy, Filter, Seen


@dataclass
class Storm:
    """One proxy under a changing sky."""

    proxy: FaultProxy
    rng: random.Random
    tally: Tally

    async def rage(self, *, seconds: float) -> None:
        """Change the weather until the time is up."""
        weathers: list[Callable[[], None]] = [
            self._busy,
            self._broken,
            self._losing_answers,
            self._without_history,
            self._late_watches,
            self._standing_watches,
            self._cut_watches,
            self._half_lists,
            self._silent,
        ]
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            self.rng.choice(weathers)()
            await asyncio.sleep(self.rng.uniform(0.3, 2.0))
            self.proxy.clear()
            if self.rng.random() < 0.5:
                self._cut_watches()

    def _busy(self) -> None:
        self._fall("429", faults.answer(429, retry_after=1), self._some(_any))

    def _broken(self) -> None:
        self._fall("500", faults.answer(500), self._some(_any))

    def _losing_answers(self) -> None:
        self._fall("lost answer", faults.lose_answer(), self._some(WRITES))

    def _without_history(self) -> None:
        self._fall("410", faults.answer(410, reason="Expired"), WATCHES)
        self._cut_watches()

    def _late_watches(self) -> None:
        self._fall("late watch", faults.delay(self.rng.uniform(0.5, 3.0)), WATCHES)
        self._cut_watches()

    def _standing_watches(self) -> None:
        self._fall("standing watch", faults.stall_stream(after_lines=1), self._some(WATCHES))
        self._cut_watches()

    def _cut_watches(self) -> None:
        self.tally.fault("cut watch", self.proxy.cut_watches())

    def _half_lists(self) -> None:
        self._fall("half answer", faults.truncate(), self._some(LISTS))

    def _silent(self) -> None:
        self._fall("silence", faults.silence(), self._some(_any, share=0.2))

    def _some(self, when: Filter, *, share: float = 0.5) -> Filter:
        return lambda seen: when(seen) and self.rng.random() < share

    def _fall(self, name: str, fault: Fault, when: Filter) -> None:
        async def counted(exchange: Exchange) -> web.StreamResponse:
            self.tally.fault(name)
            return await fault(exchange)

        self.proxy.fail(counted, when=when, times=None)


def _any(_: Seen) -> bool:
    return True
