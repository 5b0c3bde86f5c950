"""Notices that an informer has fallen behind what somebody else has already seen.

Kopf watches our own kinds on a stream of its own. Where its stream shows a resourceVersion that
the informer still lacks some seconds later, the informer's watch is dead without knowing it:
it is made to list again, and that is counted. No decision of a controller rests on this.
"""

from collections.abc import Awaitable
from typing import Final, Protocol

from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.errors import LevelsetError
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.resource import Resource
from kube_runtime.store import Store

GRACE_SECONDS: Final = 5.0
_LOOK_EVERY_SECONDS: Final = 1.0


class Follower(Protocol):
    """What this needs of an Informer."""

    resource: Resource
    store: Store

    def relist(self) -> Awaitable[None]:
        """List again."""


class Freshness:
    """Compares what was seen elsewhere with what one informer has."""

    def __init__(
        self,
        informer: Follower,
        *,
        grace_seconds: float = GRACE_SECONDS,
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._informer = informer
        self._grace_seconds = grace_seconds
        self._instrumentation = instrumentation
        self._clock = clock
        self._newest = 0
        self._awaited: tuple[int, float] | None = None

    def saw(self, resource_version: str) -> None:
        """Note a version that another stream has shown; call it from an event handler."""
        # Versions of one API server are integers that grow (guaranteed since 1.35).
        if resource_version.isdecimal():
            self._newest = max(self._newest, int(resource_version))
            self._expect()

    async def run(self) -> None:
        """Look every second, until cancelled."""
        while True:
            await self._clock.sleep(_LOOK_EVERY_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Have the informer list again if it has lacked a version for too long."""
        if self._awaited is None:
            return
        version, since = self._awaited
        if self._has(version):
            self._awaited = None
            self._expect()
        elif self._clock.monotonic() - since >= self._grace_seconds:
            self._instrumentation.informer_stale(self._informer.resource.kind)
            self._awaited = None
            try:
                await self._informer.relist()
            except LevelsetError:  # the informer logs its own failures and goes on trying
                self._expect()

    def _expect(self) -> None:
        if self._awaited is None and not self._has(self._newest):
            self._awaited = (self._newest, self._clock.monotonic())

    def _has(self, version: int) -> bool:
        mine = self._informer.store.resource_version
        return mine.isdecimal() and int(mine) >= version
