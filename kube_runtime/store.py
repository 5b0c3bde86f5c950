"""The last known state of a kind's objects, with indexes that are kept as objects come and go.

An Informer writes it; everybody else reads. What is read is shared: never change it, copy first.
An indexer says under which values an object is found; it must not raise and must depend on the
object alone.
"""

import builtins
from collections.abc import Callable, Hashable, Iterable, Iterator, KeysView, Mapping
from typing import TypeAlias

from kube_runtime.resource import Json, Key, controller_uid_of, labels_of

Indexer: TypeAlias = Callable[[Json], Iterable[Hashable]]


class Store:
    """Objects by key, and by the values that each indexer gives them."""

    def __init__(self, indexers: Mapping[str, Indexer] | None = None) -> None:
        self._indexers = tuple((indexers or {}).values())
        self._objects: dict[Key, Json] = {}
        # The values under which each object was filed, one tuple an index: an object that
        # somebody changed against the rules still leaves the buckets that it is in.
        self._filed: dict[Key, tuple[tuple[Hashable, ...], ...]] = {}
        # Buckets are dicts without values, as sets that keep their order.
        self._buckets: dict[str, dict[Hashable, dict[Key, None]]] = {
            name: {} for name in indexers or {}
        }
        self.resource_version = ""
        """Everything up to this resourceVersion is in the store; "" before the first list."""

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def get(self, key: Key) -> Json | None:
        """Look up one object."""
        return self._objects.get(key)

    def list(self, namespace: str | None = None) -> list[Json]:
        """List all objects, or those of one namespace."""
        if namespace is None:
            return list(self._objects.values())
        return [obj for key, obj in self._objects.items() if key.namespace == namespace]

    def by_index(self, name: str, value: Hashable) -> builtins.list[Json]:
        """List the objects that the indexer of this name filed under the value."""
        return [self._objects[key] for key in self._buckets[name].get(value, ())]

    def keys(self) -> KeysView[Key]:
        """Tell the keys of all objects, as they are now and later."""
        return self._objects.keys()

    def upsert(self, key: Key, obj: Json) -> Json | None:
        """Put an object in; return the one that it replaces."""
        filed = tuple([tuple(indexer(obj)) for indexer in self._indexers])
        previous = self._objects.get(key)
        self._objects[key] = obj
        before = self._filed.get(key)
        if before != filed:
            if before is not None:
                self._unfile(key)
            self._file(key, filed)
        return previous

    def delete(self, key: Key) -> Json | None:
        """Take an object out; return it."""
        previous = self._objects.pop(key, None)
        if previous is not None:
            self._unfile(key)
        return previous

    def _file(self, key: Key, filed: tuple[tuple[Hashable, ...], ...]) -> None:
        self._filed[key] = filed
        for buckets, values in zip(self._buckets.values(), filed, strict=True):
            for value in values:
                buckets.setdefault(value, {})[key] = None

    def _unfile(self, key: Key) -> None:
        for buckets, values in zip(self._buckets.values(), self._filed.pop(key), strict=True):
            for value in set(values):
                bucket = buckets[value]
                del bucket[key]
                if not bucket:  # a value that nobody has any more takes no memory
                    del buckets[value]


def by_owner_uid(obj: Json) -> Iterator[Hashable]:
    """File an object under the UID of its controller."""
    uid = controller_uid_of(obj)
    if uid is not None:
        yield uid


def orphans_by_namespace(obj: Json) -> Iterator[Hashable]:
    """File an object without a controller under its namespace."""
    if controller_uid_of(obj) is None:
        yield obj["metadata"].get("namespace", "")


def by_node(obj: Json) -> Iterator[Hashable]:
    """File a pod under the name of its node, once it has one."""
    node = (obj.get("spec") or {}).get("nodeName")
    if node:
        yield node


def by_label(name: str) -> Indexer:
    """Make an indexer that files an object under the value of this label."""

    def index(obj: Json) -> Iterator[Hashable]:
        value = labels_of(obj).get(name)
        if value is not None:
            yield value

    return index
