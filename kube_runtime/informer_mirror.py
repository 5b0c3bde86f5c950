"""The synchronous half of an informer: events and lists in, a store and calls to handlers out.

No I/O and no waiting, so every rule of what a handler is told is tested here:
a changed UID is a deletion and an addition, a known resourceVersion is nothing, a deletion comes
with the last known state.
"""

import logging
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from kube_runtime.api_answers import WatchEvent
from kube_runtime.errors import BrokenStream
from kube_runtime.instrumentation import Instrumentation
from kube_runtime.logs import fields
from kube_runtime.resource import Json, Key, Resource, resource_version_of, uid_of
from kube_runtime.store import Indexer, Store

Handler: TypeAlias = Callable[[Json | None, Json | None], None]

_LOG = logging.getLogger(__name__)


class Mirror:
    """A store and those who want to know of its changes."""

    def __init__(
        self,
        resource: Resource,
        indexers: Mapping[str, Indexer],
        transform: Callable[[Json], Json],
        instrumentation: Instrumentation,
    ) -> None:
        self.store = Store(indexers)
        self._resource = resource
        self._transform = transform
        self._instrumentation = instrumentation
        self._handlers: list[Handler] = []

    def on_change(self, handler: Handler) -> None:
        """Tell this handler too, from now on; what is there already comes as additions at once."""
        self._handlers.append(handler)
        for obj in self.store.list():
            self._call(handler, None, obj)

    def apply(self, event: WatchEvent) -> None:
        """Take in one event of a watch; raise BrokenStream when it is of no known type."""
        obj = event.object
        version = resource_version_of(obj)
        if event.type == "BOOKMARK":
            self.store.resource_version = version
        elif event.type in {"ADDED", "MODIFIED"}:
            self.upsert(self._transform(obj), version)
        elif event.type == "DELETED":
            self.delete(Key.of(obj), self._transform(obj), version)
        else:
            raise BrokenStream(
                f"watch of {self._resource}: expected ADDED, MODIFIED, DELETED or BOOKMARK, "
                f"found {event.type!r}; the objects are listed instead"
            )

    def upsert(self, obj: Json, version: str | None = None) -> Key:
        """Put an object in, already transformed, and tell what that means."""
        key = Key.of(obj)
        previous = self.store.get(key)
        if previous is not None and resource_version_of(previous) == resource_version_of(obj):
            return key  # a relist found what we have
        self.store.upsert(key, obj)
        if version is not None:
            self.store.resource_version = version
        if previous is None:
            self._tell_size()
        elif uid_of(previous) != uid_of(obj):  # made anew under the same name
            self._tell(previous, None)
            previous = None
        self._tell(previous, obj)
        return key

    def delete(self, key: Key, last: Json | None = None, version: str | None = None) -> None:
        """Take an object out and tell its last state: of the deletion itself if that was seen."""
        previous = self.store.delete(key)
        if version is not None:
            self.store.resource_version = version
        if previous is not None:
            self._tell_size()
            self._tell(last or previous, None)

    def prune(self, listed: AbstractSet[Key], version: str) -> None:
        """Take out whatever a whole list of this version did not name."""
        for key in self.store.keys() - listed:
            self.delete(key)
        self.store.resource_version = version

    def _tell_size(self) -> None:
        self._instrumentation.store_size(self._resource.kind, len(self.store))

    def _tell(self, old: Json | None, new: Json | None) -> None:
        for handler in self._handlers:
            self._call(handler, old, new)

    def _call(self, handler: Handler, old: Json | None, new: Json | None) -> None:
        try:
            handler(old, new)
        except Exception:  # noqa: BLE001 - a handler is not ours; the others must hear of it still
            self._instrumentation.handler_failed(self._resource.kind)
            _LOG.exception(
                "informer handler failed",
                extra=fields(kind=self._resource, object=Key.of(new or old or {})),
            )
