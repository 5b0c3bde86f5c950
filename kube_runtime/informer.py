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
from typing import Final, TypeAlias

from kube_runtime.api import ApiClient
from kube_runtime.api_answers import ListResult, WatchEvent
from kube_runtime.clock import SYSTEM_CLOCK, Clock, deadline
from kube_runtime.errors import BrokenStream, LevelsetError, RequestTimeout
from kube_runtime.informer_pauses import Pauses, can_resume
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.logs import fields
from kube_runtime.resource import Json, Key, Resource, resource_version_of, uid_of
from kube_runtime.store import Indexer, Store

Handler: TypeAlias = Callable[[Json | None, Json | None], None]

_LOG = logging.getLogger(__name__)
_WATCH_SECONDS: Final = 300
_SHORTEST_WATCH_SECONDS: Final = 1.0
_ITEMS_PER_TURN: Final = 500  # of a list, before the loop gets a turn: some 5 ms


def drop_managed_fields(obj: Json) -> Json:
    """Leave out what nobody reads from a store; it is a third of a small pod."""
    obj["metadata"].pop("managedFields", None)
    return obj


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
        inactivity_seconds: float = 70.0,
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.store = Store(indexers)
        self.resource = resource
        self.last_contact = clock.monotonic()
        """When the server last said anything, on the monotonic clock."""
        self._api = api
        self._namespace = namespace
        self._label_selector = label_selector
        self._field_selector = field_selector
        self._transform = transform
        self._inactivity_seconds = inactivity_seconds
        self._instrumentation = instrumentation
        self._clock = clock
        self._handlers: list[Handler] = []
        self._pauses = Pauses(random.random)
        self._synced = asyncio.Event()
        self._must_list = True
        self._waiters: list[asyncio.Future[None]] = []
        self._interruptible: asyncio.Timeout | None = None
        self._progressed = False
        self._last_error: Exception | None = None

    @property
    def has_synced(self) -> bool:
        """Tell whether the store has held a whole list at least once."""
        return self._synced.is_set()

    def on_change(self, handler: Handler) -> None:
        """Call back with (old, new): (None, new) is an addition, (old, None) a deletion.

        Called in order, inside the informer's task: enqueue a key and return.
        What is in the store already comes as additions at once.
        """
        self._handlers.append(handler)
        for obj in self.store.list():
            self._call(handler, None, obj)

    async def wait_synced(self, timeout_seconds: float) -> None:
        """Wait for the first whole list; raise RequestTimeout with the last error seen."""
        try:
            async with deadline(self._clock, timeout_seconds):
                await self._synced.wait()
        except TimeoutError as error:
            raise RequestTimeout(
                f"informer of {self.resource}: expected a first list within "
                f"{timeout_seconds:g} s, found {self._last_error or 'no answer yet'}; "
                "check the API server and the right to list and watch"
            ) from error

    async def relist(self, timeout_seconds: float = 60.0) -> None:
        """Have a list that starts after this call, and wait until the store holds it.

        Raises RequestTimeout. Callers at the same time share one list.
        """
        done = asyncio.get_running_loop().create_future()
        self._waiters.append(done)
        self._must_list = True
        if self._interruptible is not None:  # a watch; a list or a pause is not cut short
            self._interruptible.reschedule(0)
            self._interruptible = None
        try:
            async with deadline(self._clock, timeout_seconds):
                await done
        except TimeoutError as error:
            raise RequestTimeout(
                f"informer of {self.resource}: expected a list within {timeout_seconds:g} s, "
                f"found {self._last_error or 'no answer yet'}; check the API server"
            ) from error

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

    # ---- LIST ----

    async def _list(self) -> None:
        waiters, self._waiters = self._waiters, []
        self._must_list = False
        try:
            result = await self._api.list(
                self.resource,
                namespace=self._namespace,
                label_selector=self._label_selector,
                field_selector=self._field_selector,
                transform=self._transform,
            )
            await self._replace(result)
        except BaseException:
            self._must_list = True
            self._waiters += waiters
            self._instrumentation.list_result(self.resource.kind, ok=False)
            raise
        self._instrumentation.list_result(self.resource.kind, ok=True)
        self._synced.set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def _replace(self, result: ListResult) -> None:
        """Bring the store level with a list, telling what differs."""
        listed = set()
        for count, obj in enumerate(result.items, start=1):
            key = Key.of(obj)
            listed.add(key)
            self._upsert(key, obj)
            if count % _ITEMS_PER_TURN == 0:
                await asyncio.sleep(0)
        for key in self.store.keys() - listed:
            self._delete(key)
        self._heard(result.resource_version)

    # ---- WATCH ----

    async def _watch(self) -> None:
        """Follow changes until the server ends the watch, it fails, or a relist is asked for."""
        started = self._clock.monotonic()
        self._progressed = False
        try:
            async with asyncio.timeout(None) as self._interruptible:
                await self._follow()
        except TimeoutError:
            if not self._must_list:
                raise
            return
        except Exception:
            self._instrumentation.watch_result(self.resource.kind, ok=False)
            raise
        finally:
            self._interruptible = None
        self._instrumentation.watch_result(self.resource.kind, ok=True)
        lasted = self._clock.monotonic() - started
        if lasted < _SHORTEST_WATCH_SECONDS and not self._progressed:
            # Something between us and the server ends every watch at once: no hot loop.
            await self._clock.sleep(self._pauses.after(None))

    async def _follow(self) -> None:
        events = self._api.watch(
            self.resource,
            namespace=self._namespace,
            label_selector=self._label_selector,
            field_selector=self._field_selector,
            resource_version=self.store.resource_version,
            timeout_seconds=round(_WATCH_SECONDS * random.uniform(0.8, 1.2)),  # noqa: S311
            inactivity_seconds=self._inactivity_seconds,
        )
        async with aclosing(events):
            async for event in events:
                self._apply(event)

    def _apply(self, event: WatchEvent) -> None:
        obj = event.object
        version = resource_version_of(obj)
        if event.type == "BOOKMARK":
            self._heard(version)
        elif event.type in {"ADDED", "MODIFIED"}:
            self._upsert(Key.of(obj), self._transform(obj), version)
        elif event.type == "DELETED":
            self._delete(Key.of(obj), self._transform(obj), version)
        else:
            raise BrokenStream(
                f"watch of {self.resource}: expected ADDED, MODIFIED, DELETED or BOOKMARK, "
                f"found {event.type!r}; the objects are listed instead"
            )
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
                namespace=self._namespace,
                reason=reason,
                relist=self._must_list,
                error=error,
            ),
            # A bug is shown whole; a bad world in one line.
            exc_info=None if isinstance(error, LevelsetError) else error,
        )

    # ---- the store and who is told ----

    def _heard(self, version: str) -> None:
        self.store.resource_version = version
        self.last_contact = self._clock.monotonic()

    def _upsert(self, key: Key, obj: Json, version: str | None = None) -> None:
        """Put an object in and tell; an object made anew under the same name is a deletion first."""
        previous = self.store.get(key)
        if previous is not None and resource_version_of(previous) == resource_version_of(obj):
            return  # a relist found what we have
        self.store.upsert(key, obj)
        if version is not None:
            self._heard(version)
        if previous is None:
            self._instrumentation.store_size(self.resource.kind, len(self.store))
        elif uid_of(previous) != uid_of(obj):
            self._tell(previous, None)
            previous = None
        self._tell(previous, obj)

    def _delete(self, key: Key, last: Json | None = None, version: str | None = None) -> None:
        """Take an object out and tell its last state: of the deletion itself if that was seen."""
        previous = self.store.delete(key)
        if version is not None:
            self._heard(version)
        if previous is not None:
            self._instrumentation.store_size(self.resource.kind, len(self.store))
            self._tell(last or previous, None)

    def _tell(self, old: Json | None, new: Json | None) -> None:
        for handler in self._handlers:
            self._call(handler, old, new)

    def _call(self, handler: Handler, old: Json | None, new: Json | None) -> None:
        try:
            handler(old, new)
        except Exception:  # noqa: BLE001 - a handler is not ours; the others must hear of it still
            self._instrumentation.handler_failed(self.resource.kind)
            _LOG.exception(
                "informer handler failed",
                extra=fields(kind=self.resource, object=Key.of(new or old or {})),
            )
