"""Keeps a Store equal to what the API server has of one kind: LIST, then WATCH, for ever.

A controller asks the store and is told of each change; `run` survives every error.
A relist tells the same handlers what changed in between, deletions included, with the last known
state. The store is never half empty: a relist puts in first and prunes afterwards.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Mapping
from contextlib import aclosing
from typing import Final, TypedDict

from kube_runtime.api import ApiClient
from kube_runtime.api_answers import ListResult
from kube_runtime.clock import SYSTEM_CLOCK, Clock, deadline
from kube_runtime.errors import LevelsetError, RequestTimeout
from kube_runtime.informer_mirror import Handler, Mirror
from kube_runtime.informer_pauses import Pauses, can_resume
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.logs import fields
from kube_runtime.resource import Json, Resource
from kube_runtime.store import Indexer

_LOG = logging.getLogger(__name__)
_WATCH_SECONDS: Final = 300
_SHORTEST_WATCH_SECONDS: Final = 1.0
_ITEMS_PER_TURN: Final = 500  # of a list, before the loop gets a turn: some 5 ms


def drop_managed_fields(obj: Json) -> Json:
    """Leave out what nobody reads from a store; it is a third of a small pod."""
    obj["metadata"].pop("managedFields", None)
    return obj


class _Scope(TypedDict):
    namespace: str | None
    label_selector: str | None
    field_selector: str | None


class Informer:
    """Follows the objects of one kind, of one namespace or selector if given."""

    def __init__(
        self,
        api: ApiClient,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        indexers: Mapping[str, Indexer] | None = None,
        transform: Callable[[Json], Json] = drop_managed_fields,
        metadata_only: bool = False,
        inactivity_seconds: float = 70.0,
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.resource = resource
        self.last_contact = clock.monotonic()
        """When the server last said anything, on the monotonic clock."""
        self._mirror = Mirror(resource, indexers or {}, transform, instrumentation)
        self.store = self._mirror.store
        self._api = api
        self._scope = _Scope(
            namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        self._transform = transform
        self._metadata_only = metadata_only
        self._inactivity_seconds = inactivity_seconds
        self._instrumentation = instrumentation
        self._clock = clock
        self._pauses = Pauses(random.random)
        self._synced = asyncio.Event()
        self._must_list = True
        self._waiters: list[asyncio.Future[None]] = []
        self._watching: asyncio.Timeout | None = None
        self._progressed = False
        self._last_error: Exception | None = None

    @property
    def has_synced(self) -> bool:
        """Tell whether the store has held a whole list at least once."""
        return self._synced.is_set()

    @property
    def last_error(self) -> Exception | None:
        """What last kept it from listing or watching; it may have gone on since."""
        return self._last_error

    def on_change(self, handler: Handler) -> None:
        """Call back with (old, new): (None, new) is an addition, (old, None) a deletion.

        Called in order, inside the informer's task: enqueue a key and return.
        What is in the store already comes as additions at once.
        """
        self._mirror.on_change(handler)

    async def wait_synced(self, timeout_seconds: float) -> None:
        """Wait for the first whole list; raise RequestTimeout with the last error seen."""
        try:
            async with deadline(self._clock, timeout_seconds):
                await self._synced.wait()
        except TimeoutError as error:
            raise self._too_late(timeout_seconds) from error

    async def relist(self, timeout_seconds: float = 60.0) -> None:
        """Have a list that starts after this call, and wait until the store holds it.

        Raises RequestTimeout. Those who call at the same time share one list.
        """
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters = [*(waiter for waiter in self._waiters if not waiter.done()), done]
        self._must_list = True
        if self._watching is not None:  # a list in progress, or a back-off, is not cut short
            self._watching.reschedule(0)
            self._watching = None
        try:
            async with deadline(self._clock, timeout_seconds):
                await done
        except TimeoutError as error:
            raise self._too_late(timeout_seconds) from error

    async def run(self) -> None:
        """Follow the kind until cancelled."""
        while True:
            try:
                while self._must_list:
                    await self._list()
                await self._watch()
            except Exception as error:  # noqa: BLE001 - the edge of the loop: it must go on
                self._note(error)
                await self._clock.sleep(self._pauses.after(error))

    async def _list(self) -> None:
        waiters, self._waiters = self._waiters, []
        self._must_list = False
        try:
            await self._replace(
                await self._api.list(
                    self.resource,
                    **self._scope,
                    transform=self._transform,
                    metadata_only=self._metadata_only,
                )
            )
        except BaseException as error:
            self._must_list = True
            self._waiters += waiters
            if isinstance(error, Exception):  # the end of the process is no failure
                self._instrumentation.list_result(self.resource.kind, ok=False)
            raise
        self._instrumentation.list_result(self.resource.kind, ok=True)
        self._synced.set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _replace(self, result: ListResult) -> None:
        """Bring the store level with a list, giving the loop a turn now and then."""
        listed = set()
        for count, obj in enumerate(result.items, start=1):
            listed.add(self._mirror.upsert(obj))
            if count % _ITEMS_PER_TURN == 0:
                await asyncio.sleep(0)
        self._mirror.prune(listed, result.resource_version)
        self.last_contact = self._clock.monotonic()

    async def _watch(self) -> None:
        """Follow changes until the server ends the watch, it fails, or a relist is asked for."""
        started = self._clock.monotonic()
        self._progressed = False
        try:
            async with asyncio.timeout(None) as self._watching:
                await self._follow()
        except TimeoutError:
            if not self._must_list:
                raise
            return
        except Exception:
            self._instrumentation.watch_result(self.resource.kind, ok=False)
            raise
        finally:
            self._watching = None
        self._instrumentation.watch_result(self.resource.kind, ok=True)
        lasted = self._clock.monotonic() - started
        if lasted < _SHORTEST_WATCH_SECONDS and not self._progressed:
            # Something between us and the server ends every watch at once: no hot loop.
            await self._clock.sleep(self._pauses.after(None))

    async def _follow(self) -> None:
        events = self._api.watch(
            self.resource,
            **self._scope,
            resource_version=self.store.resource_version,
            timeout_seconds=round(_WATCH_SECONDS * random.uniform(0.8, 1.2)),  # noqa: S311
            inactivity_seconds=self._inactivity_seconds,
            metadata_only=self._metadata_only,
        )
        async with aclosing(events):
            async for event in events:
                self._mirror.apply(event)
                self.last_contact = self._clock.monotonic()
                if not self._progressed:
                    self._progressed = True
                    self._pauses.reset()

    def _note(self, error: Exception) -> None:
        """Count and log a failure, and decide whether the next turn must list."""
        self._must_list = self._must_list or not can_resume(error)
        self._last_error = error
        reason = error.reason if isinstance(error, LevelsetError) else type(error).__name__
        self._instrumentation.watch_restarted(self.resource.kind, reason)
        _LOG.warning(
            "informer starts over",
            extra=fields(
                kind=self.resource,
                namespace=self._scope["namespace"],
                reason=reason,
                relist=self._must_list,
                error=error,
            ),
            # A bug is shown whole, a bad world in one line.
            exc_info=None if isinstance(error, LevelsetError) else error,
        )

    def _too_late(self, timeout_seconds: float) -> RequestTimeout:
        return RequestTimeout(
            f"informer of {self.resource}: expected a whole list within {timeout_seconds:g} s, "
            f"found {self._last_error or 'no answer yet'}; "
            "check the API server and the right to list and watch"
        )
