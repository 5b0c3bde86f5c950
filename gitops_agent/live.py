"""The live half of the comparison: the objects of our Applications, watched kind by kind.

Watches carry our label as selector, so their cost follows what we manage and not the size of the cluster.
An object that the store lacks is asked for by name before it counts as missing: a label that somebody
took off is drift, not a deletion. Secret values are hashed before anything is kept.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from gitops_agent.diff.compare import LAST_APPLIED
from gitops_agent.diff.ownership import only_ours
from gitops_agent.names import APPLICATION_LABEL, FIELD_MANAGER
from gitops_agent.objects import ObjectId, Redactor
from gitops_agent.overlay import Overlay
from kube_runtime.api import ApiClient
from kube_runtime.errors import NotFound, RequestTimeout
from kube_runtime.informer import Informer
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.resource import Json, Key, Resource, annotations_of, labels_of

_SYNC_SECONDS: Final = 15.0
_Place = tuple[Resource, Key]


@dataclass(slots=True)
class _Watch:
    informer: Informer
    task: asyncio.Task[None] | None = None
    users: set[Key] = field(default_factory=set)
    was_awaited: bool = False


class LiveObjects:
    """What the cluster has of the kinds that our Applications use."""

    def __init__(
        self,
        api: ApiClient,
        *,
        redactor: Redactor,
        on_change: Callable[[str], None],
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
    ) -> None:
        self._api = api
        self._redactor = redactor
        self._on_change = on_change
        self._instrumentation = instrumentation
        self._watches: dict[Resource, _Watch] = {}
        self._overlay: Overlay[_Place] = Overlay()
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Run an informer for each kind in use, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                for watch in self._watches.values():
                    if watch.task is None:
                        watch.task = tasks.create_task(watch.informer.run())
                self._wake.clear()
                await self._wake.wait()

    def use(self, application: Key, resources: frozenset[Resource]) -> None:
        """Say which kinds an Application needs now; what nobody needs is no longer watched."""
        for resource in resources - self._watches.keys():
            self._watches[resource] = _Watch(self._informer(resource))
            self._wake.set()
        for resource, watch in list(self._watches.items()):
            if resource in resources:
                watch.users.add(application)
                continue
            watch.users.discard(application)
            if not watch.users:
                self._stop(resource)

    async def read(self, resource: Resource, object_id: ObjectId) -> Json | None:
        """Return the object as it is, redacted; None when the API server says it is not there."""
        key = Key(object_id.namespace, object_id.name)
        known = self._overlay.newest((resource, key), await self._stored(resource, key))
        if known is not None:
            return known
        try:
            obj = await self._api.get(resource, key.name, namespace=key.namespace or None)
        except NotFound:
            self._overlay.forget((resource, key))
            return None
        return self.trim(obj)

    def deleted(self, resource: Resource, object_id: ObjectId) -> None:
        """Note that an object was asked to go: what was answered before counts no more."""
        self._overlay.forget((resource, Key(object_id.namespace, object_id.name)))

    def wrote(self, resource: Resource, answer: Json) -> Json:
        """Note the API server's answer to a write; returns it redacted."""
        trimmed = self.trim(answer)
        self._overlay.wrote((resource, Key.of(answer)), trimmed)
        return trimmed

    def trim(self, obj: Json) -> Json:
        """Keep what a comparison needs, and nothing that must not be kept."""
        obj = only_ours(self._redactor.view(obj), FIELD_MANAGER)
        if LAST_APPLIED in annotations_of(obj):
            kept = {k: v for k, v in annotations_of(obj).items() if k != LAST_APPLIED}
            obj = {**obj, "metadata": {**obj["metadata"], "annotations": kept}}
        return obj

    async def _stored(self, resource: Resource, key: Key) -> Json | None:
        watch = self._watches.get(resource)
        if watch is None or watch.task is None:
            return None
        if not watch.informer.has_synced:
            if watch.was_awaited:
                return None  # no right to list this kind, say: then every look is a GET
            try:
                await watch.informer.wait_synced(_SYNC_SECONDS)
            except RequestTimeout:
                watch.was_awaited = True
                return None
        return watch.informer.store.get(key)

    def _informer(self, resource: Resource) -> Informer:
        informer = Informer(
            self._api,
            resource,
            label_selector=APPLICATION_LABEL,
            transform=self._stored_form(resource),
            instrumentation=self._instrumentation,
        )
        informer.on_change(self._changed)
        return informer

    def _stored_form(self, resource: Resource) -> Callable[[Json], Json]:
        def transform(obj: Json) -> Json:
            # The items of a list come without their kind, by which a Secret is told.
            return self.trim({"apiVersion": resource.api_version, "kind": resource.kind, **obj})

        return transform

    def _changed(self, old: Json | None, new: Json | None) -> None:
        for obj in (old, new):
            if obj is not None and (uid := labels_of(obj).get(APPLICATION_LABEL)):
                self._on_change(uid)

    def _stop(self, resource: Resource) -> None:
        watch = self._watches.pop(resource)
        if watch.task is not None:
            watch.task.cancel()
