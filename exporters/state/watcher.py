"""Follows our kinds and keeps the byte store level with them while this process leads.

One task for each kind: look whether it is served, then an informer for ever. A kind that is
missing (its CRD is not installed) or refused costs its own series only: it is logged once, shown by
a metric, and looked at again. Informers run on standbys too, so that a new leader has its page at
once; the page itself is the leader's alone, or two replicas would double every series.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Final

from exporters.catalogue.state import OBJECT_METRICS
from exporters.instrument import Instruments
from exporters.state.kinds import WATCHED_KINDS, WatchedKind
from exporters.state.store import StateStore
from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.errors import Forbidden, KubeError, NotFound
from kube_runtime.informer import Informer
from kube_runtime.logs import fields
from kube_runtime.resource import Json, Key

LOOK_AGAIN_SECONDS: Final = 30.0
_OBJECTS_PER_TURN: Final = 200  # some 4 ms, then the loop gets a turn
_FOREVER_SECONDS: Final = 365 * 86400.0
_KEPT_SPEC: Final = ("paused", "project", "replicas")
_KEPT_METADATA: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "name",
    "namespace",
    "resourceVersion",
    "uid",
)
_LOG: Final = logging.getLogger(__name__)


class StateWatcher:
    """Watches the kinds; `page` is what a scrape gets."""

    def __init__(
        self,
        api: ApiClient,
        instruments: Instruments,
        *,
        kinds: Sequence[WatchedKind] = WATCHED_KINDS,
        max_series_per_family: int,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._store = StateStore(OBJECT_METRICS, max_series_per_family=max_series_per_family)
        self._followers = [
            KindFollower(kind, api, self._store, instruments, clock=clock) for kind in kinds
        ]
        series = instruments.gauge("levelset_exporter_series")
        series.set_function(lambda: self._store.series)
        dropped = instruments.gauge("levelset_exporter_series_dropped")
        dropped.set_function(lambda: self._store.series_dropped)

    @property
    def is_ready(self) -> bool:
        """Tell whether every kind is followed or known to be unavailable."""
        return all(follower.is_ready for follower in self._followers)

    def page(self) -> bytes:
        """Return the lines of all objects; empty while another process leads."""
        return self._store.page()

    async def run(self) -> None:
        """Follow all kinds until cancelled."""
        await _all([follower.run for follower in self._followers])

    async def lead(self) -> None:
        """Serve the state until cancelled."""
        await _all([follower.lead for follower in self._followers])


class KindFollower:
    """One kind: its informer, and its part of the store."""

    def __init__(
        self,
        kind: WatchedKind,
        api: ApiClient,
        store: StateStore,
        instruments: Instruments,
        *,
        clock: Clock,
    ) -> None:
        self._kind = kind
        self._api = api
        self._store = store
        self._instruments = instruments
        self._clock = clock
        self._is_leading = False
        self._is_unavailable = False
        self._informer = Informer(
            api,
            kind.resource,
            transform=slimmed,
            instrumentation=instruments.runtime,
            clock=clock,
        )
        self._informer.on_change(self._changed)
        self._unavailable = instruments.gauge("levelset_exporter_kind_unavailable").labels(
            kind.name
        )
        contact = instruments.gauge("levelset_exporter_watch_last_contact_timestamp_seconds")
        contact.labels(kind.name).set_function(self._last_contact)
        objects = instruments.gauge("levelset_exporter_objects").labels(kind.name)
        objects.set_function(lambda: len(self._informer.store) if self._is_leading else 0)

    @property
    def is_ready(self) -> bool:
        """Tell whether the kind is held, or is known not to be had."""
        return self._informer.has_synced or self._is_unavailable

    async def run(self) -> None:
        """Wait until the kind can be read, then follow it for ever."""
        while not await self._can_be_read():
            await self._clock.sleep(LOOK_AGAIN_SECONDS)
        await self._informer.run()

    async def lead(self) -> None:
        """Render what is there and whatever comes, until cancelled; then forget it all."""
        try:
            await self._informer.wait_synced(_FOREVER_SECONDS)
            self._is_leading = True
            await self._load()
            self._store.show(self._kind.name)
            await asyncio.Event().wait()
        finally:
            self._is_leading = False
            self._store.forget(self._kind.name)

    async def _can_be_read(self) -> bool:
        try:
            path = self._kind.resource.path()
            await self._api.request("GET", path, params={"limit": "1"})
        except (NotFound, Forbidden) as error:
            self._tell_unavailable(error)
            return False
        except KubeError as error:  # nothing is known: not ready, and asked again
            _LOG.warning("kind not read", extra=fields(kind=self._kind.name, error=error))
            return False
        self._is_unavailable = False
        self._unavailable.set(0)
        return True

    def _tell_unavailable(self, error: KubeError) -> None:
        if not self._is_unavailable:
            _LOG.warning(
                "kind is not exported until it can be read",
                extra=fields(kind=self._kind.name, reason=error.reason, error=error),
            )
        self._is_unavailable = True
        self._unavailable.set(1)

    async def _load(self) -> None:
        """Render all objects, out of sight; changes meanwhile come through the handler."""
        for count, key in enumerate(list(self._informer.store.keys()), start=1):
            obj = self._informer.store.get(key)
            if obj is not None:
                self._put(key, obj)
            if count % _OBJECTS_PER_TURN == 0:
                await asyncio.sleep(0)

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if not self._is_leading:
            return
        if new is not None:
            self._put(Key.of(new), new)
        elif old is not None:
            self._store.delete(self._kind.name, Key.of(old))

    def _put(self, key: Key, obj: Json) -> None:
        try:
            self._store.put(self._kind.name, key, self._kind.render(obj))
        except Exception as error:  # noqa: BLE001 - no line is better than one of yesterday
            self._store.delete(self._kind.name, key)
            self._instruments.registry.report(f"state of {self._kind.name}", error)

    def _last_contact(self) -> float:
        if not self._informer.has_synced:
            return 0.0
        return time.time() - (self._clock.monotonic() - self._informer.last_contact)


def slimmed(obj: Json) -> Json:
    """Keep what the lines are made of; templates and inventories would be most of the memory."""
    metadata, spec, status = obj["metadata"], obj.get("spec"), obj.get("status")
    slim: Json = {"metadata": {k: metadata[k] for k in _KEPT_METADATA if k in metadata}}
    if isinstance(spec, dict):
        slim["spec"] = {k: spec[k] for k in _KEPT_SPEC if k in spec}
    if isinstance(status, dict):
        slim["status"] = {k: v for k, v in status.items() if k != "inventory"}
    return slim


async def _all(services: Sequence[Callable[[], Coroutine[None, None, None]]]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for service in services:
            tasks.create_task(service())
