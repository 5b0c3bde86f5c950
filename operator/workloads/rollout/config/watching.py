"""Watches ConfigMaps and Secrets by their metadata, and wakes the Rollouts that refer to them.

Values are not asked for: the server sends metadata alone, so neither the memory nor what a crash
could show grows with what is in the cluster. A kind that cannot be listed is said to be unreadable
and stops nobody.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kube_runtime.errors import Forbidden
from kube_runtime.informer import Informer
from kube_runtime.resource import Json, Key, Uid, annotations_of, labels_of
from kube_runtime.store import Store
from kube_runtime.workqueue import WorkQueue
from workloads import names
from workloads.rollout.config.copies import is_copy_of
from workloads.rollout.config.record import Version, version_of
from workloads.rollout.config.references import Reference, Source, SourceKind, references_of

SOURCE_INDEX: Final = "sources"
COPIES_INDEX: Final = "copies"
_METADATA: Final = ("name", "namespace", "uid", "resourceVersion")
_OF_COPIES: Final = ("labels", "annotations", "ownerReferences")


@dataclass(frozen=True, slots=True)
class ConfigWatch:
    """The informers of both kinds."""

    informers: Mapping[SourceKind, Informer]

    def is_readable(self, kind: SourceKind) -> bool:
        """Tell whether the whole of this kind has been seen."""
        return self.informers[kind].has_synced

    def problem(self, kind: SourceKind) -> str:
        """Say why a kind could not be listed for good; "" while it may only take its time."""
        error = self.informers[kind].last_error
        return error.message if isinstance(error, Forbidden) else ""

    def version(self, namespace: str, source: Source) -> Version | None:
        """Tell the version of a source; None when there is none."""
        obj = self.metadata(namespace, source)
        return None if obj is None else version_of(obj)

    def metadata(self, namespace: str, source: Source) -> Json | None:
        """Look up the metadata of one object."""
        return self.informers[source.kind].store.get(Key(namespace, source.name))

    def copies_of(self, rollout_uid: Uid) -> Iterator[tuple[SourceKind, Json]]:
        """List the copies that were made for a Rollout."""
        for kind, informer in self.informers.items():
            for obj in informer.store.by_index(COPIES_INDEX, rollout_uid):
                yield kind, obj

    def own_copies(
        self, namespace: str, references: tuple[Reference, ...], rollout_uid: Uid
    ) -> Iterator[Source]:
        """Choose the sources that are copies of ours, as they are after an undo."""
        for reference in references:
            obj = self.metadata(namespace, reference.source)
            if obj is not None and is_copy_of(obj, rollout_uid):
                yield reference.source

    def wake(self, queue: WorkQueue[Key], rollouts: Store) -> None:
        """Enqueue the Rollouts that a changed source or copy concerns, from now on."""
        for kind, informer in self.informers.items():
            informer.on_change(_Waker(kind, queue, rollouts))


def by_source(rollout: Json) -> Iterator[Hashable]:
    """File a Rollout under what its template refers to."""
    namespace = rollout["metadata"].get("namespace", "")
    for reference in references_of((rollout.get("spec") or {}).get("template") or {}):
        yield namespace, reference.source


def by_copy(obj: Json) -> Iterator[Hashable]:
    """File a copy under the UID of the Rollout that it was made for."""
    uid = labels_of(obj).get(names.CONFIG_OF)
    if uid is not None:
        yield uid


@dataclass(frozen=True, slots=True)
class Slim:
    """The informer's transform: an identity, and of our copies what they say of themselves."""

    kind: SourceKind

    def __call__(self, obj: Json) -> Json:
        """Return what is kept of an object."""
        metadata = obj["metadata"]
        kept = {field: metadata[field] for field in _METADATA if field in metadata}
        if names.CONFIG_OF in labels_of(obj):
            kept |= {field: metadata[field] for field in _OF_COPIES if field in metadata}
        return {"apiVersion": "v1", "kind": self.kind, "metadata": kept}


@dataclass(frozen=True, slots=True)
class _Waker:
    kind: SourceKind
    queue: WorkQueue[Key]
    rollouts: Store

    def __call__(self, old: Json | None, new: Json | None) -> None:
        obj = new or old
        if obj is None:
            return
        key = Key.of(obj)
        made_for = annotations_of(obj).get(names.COPIED_FOR)
        if made_for:
            self.queue.add(Key(key.namespace, made_for))
        source = Source(self.kind, key.name)
        for rollout in self.rollouts.by_index(SOURCE_INDEX, (key.namespace, source)):
            self.queue.add(Key.of(rollout))
