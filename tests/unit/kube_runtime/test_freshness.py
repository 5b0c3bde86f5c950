"""An informer that is behind another stream is made to list again, and only then."""

import asyncio
from collections.abc import Awaitable

from kube_runtime.clock import FakeClock
from kube_runtime.errors import RequestTimeout
from kube_runtime.freshness import Freshness
from kube_runtime.instrumentation import Instrumentation
from kube_runtime.resource import PODS
from kube_runtime.store import Store


class _Informer:
    """Holds a version, and lists to the one it is told."""

    def __init__(self, version: str, listed: str = "") -> None:
        self.resource = PODS
        self.store = Store()
        self.store.resource_version = version
        self.relists = 0
        self.is_broken = False
        self._listed = listed

    def relist(self) -> Awaitable[None]:
        return self._relist()

    async def _relist(self) -> None:
        self.relists += 1
        if self.is_broken:
            raise RequestTimeout("too late")
        self.store.resource_version = self._listed


class _Counter(Instrumentation):
    def __init__(self) -> None:
        self.stale: list[str] = []

    def informer_stale(self, kind: str) -> None:
        self.stale.append(kind)


async def test_an_informer_that_lags_beyond_the_grace_lists_again() -> None:
    clock, counter, informer = FakeClock(), _Counter(), _Informer("5", listed="9")
    freshness = Freshness(informer, grace_seconds=5, instrumentation=counter, clock=clock)

    freshness.saw("9")
    await freshness.look()
    assert informer.relists == 0
    clock.shift(5)
    await freshness.look()

    assert informer.relists == 1
    assert counter.stale == ["Pod"]


async def test_an_informer_that_catches_up_in_time_is_left_alone() -> None:
    clock, informer = FakeClock(), _Informer("5")
    freshness = Freshness(informer, grace_seconds=5, clock=clock)

    freshness.saw("9")
    informer.store.resource_version = "10"
    clock.shift(60)
    await freshness.look()

    assert informer.relists == 0


async def test_a_newer_version_seen_meanwhile_gets_its_own_grace() -> None:
    clock, informer = FakeClock(), _Informer("5", listed="20")
    freshness = Freshness(informer, grace_seconds=5, clock=clock)

    freshness.saw("9")
    clock.shift(4)
    freshness.saw("20")
    informer.store.resource_version = "9"
    clock.shift(2)
    await freshness.look()
    assert informer.relists == 0
    clock.shift(5)
    await freshness.look()

    assert informer.relists == 1


async def test_a_failed_relist_is_tried_again() -> None:
    clock, informer = FakeClock(), _Informer("5", listed="9")
    informer.is_broken = True
    freshness = Freshness(informer, grace_seconds=5, clock=clock)

    freshness.saw("9")
    clock.shift(5)
    await freshness.look()
    informer.is_broken = False
    clock.shift(5)
    await freshness.look()

    assert informer.relists == 2


async def test_a_version_that_is_no_number_is_not_compared() -> None:
    clock, informer = FakeClock(), _Informer("5")
    freshness = Freshness(informer, clock=clock)

    freshness.saw("")
    freshness.saw("abc")
    clock.shift(60)
    await freshness.look()

    assert informer.relists == 0


async def test_it_looks_by_itself_until_it_is_cancelled() -> None:
    clock, informer = FakeClock(), _Informer("5", listed="9")
    freshness = Freshness(informer, grace_seconds=2, clock=clock)
    task = asyncio.create_task(freshness.run())

    freshness.saw("9")
    await clock.advance(4)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert informer.relists == 1
