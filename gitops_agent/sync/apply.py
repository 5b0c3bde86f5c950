"""Apply and delete, in order, with preconditions; decides nothing.

Every write is repeatable: an apply that was cut off is applied again, a delete names UID and
resourceVersion and so can only hit the object that was judged.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from gitops_agent.concurrently import for_each
from gitops_agent.diff.differ import Target
from gitops_agent.errors import ApplyFailed
from gitops_agent.live import LiveObjects
from gitops_agent.names import FIELD_MANAGER
from gitops_agent.objects import ObjectId
from gitops_agent.resources import InventoryEntry
from gitops_agent.sync.order import in_waves, rank
from kube_runtime.api import ApiClient
from kube_runtime.conditions import is_true, parse_conditions
from kube_runtime.errors import ApiError, Conflict, NotFound
from kube_runtime.resource import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    Json,
    Resource,
    resource_version_of,
)

_MESSAGE: Final = 600
_ESTABLISHED_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.2


class Applier:
    """Writes to the cluster."""

    def __init__(self, api: ApiClient, live: LiveObjects) -> None:
        self._api = api
        self._live = live

    async def apply(self, targets: Iterable[Target]) -> dict[ObjectId, Json]:
        """Apply in waves; returns the answers, redacted. Raises ApplyFailed naming the object."""
        by_id = {target.id: target for target in targets}
        answers: dict[ObjectId, Json] = {}
        for wave in in_waves(target.manifest for target in by_id.values()):
            group = [by_id[manifest.id] for manifest in wave]
            answers |= dict(await for_each(group, self._apply_one))
        return answers

    async def _apply_one(self, target: Target) -> tuple[ObjectId, Json]:
        if target.resource is None:
            raise ApplyFailed(f"{target.id}: the cluster does not serve its kind")
        try:
            answer = await self._api.apply(
                target.resource, target.manifest.body, field_manager=FIELD_MANAGER, force=True
            )
        except ApiError as error:
            message = target.manifest.scrub(error.message)[:_MESSAGE]
            raise ApplyFailed(f"{target.id}: {message}") from None
        return target.id, self._live.wrote(target.resource, answer)

    async def ensure_namespace(self, name: str) -> None:
        """Create a namespace that is not there; it never becomes ours."""
        try:
            await self._api.get(NAMESPACES, name)
        except NotFound:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await self._api.apply(NAMESPACES, body, field_manager=FIELD_MANAGER)

    async def wait_established(self, name: str) -> None:
        """Wait until a CustomResourceDefinition is served; raises ApplyFailed naming what it waits for."""
        try:
            async with asyncio.timeout(_ESTABLISHED_SECONDS):
                while not await self._is_established(name):  # noqa: ASYNC110 - asks a server
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError as error:
            raise ApplyFailed(
                f"CustomResourceDefinition {name}: expected Established within "
                f"{_ESTABLISHED_SECONDS:g} s; look at its conditions"
            ) from error

    async def _is_established(self, name: str) -> bool:
        crd = await self._api.get(CUSTOM_RESOURCE_DEFINITIONS, name)
        return is_true(parse_conditions((crd.get("status") or {}).get("conditions")), "Established")

    async def delete(
        self, entries: Iterable[tuple[InventoryEntry, Resource, Json]]
    ) -> list[InventoryEntry]:
        """Delete in the reverse order of applying; returns what was deleted or already gone."""
        done = []
        for entry, resource, live in sorted(entries, key=lambda item: -rank(item[0].id)):
            try:
                await self._api.delete(
                    resource,
                    entry.id.name,
                    namespace=entry.id.namespace or None,
                    uid=entry.uid,
                    resource_version=resource_version_of(live),
                    propagation_policy="Background",
                )
            except NotFound:
                pass
            except Conflict:
                continue  # changed since it was judged: judged anew at the next look
            self._live.deleted(resource, entry.id)
            done.append(entry)
        return done
