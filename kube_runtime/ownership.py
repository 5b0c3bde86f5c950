"""Who owns what: owner references, the plan of claims, and adopting and releasing for real.

A controller claims the objects that its selector matches, as the built-in controllers do:
plan_claims decides (pure), adopt and release write. Every write names the object's UID and the
references it was planned on, so that a namesake or a change made meanwhile is never overwritten.
LiveOwner is the guard before the first write of a sync: the cache may still show an owner that is
gone, the API server does not.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.errors import Invalid, KubeError, NotFound
from kube_runtime.resource import (
    Json,
    Key,
    OwnerReference,
    Resource,
    Uid,
    controller_uid_of,
    is_deleting,
    labels_of,
    uid_of,
)
from kube_runtime.selectors import LabelSelector

__all__ = [
    "Claims",
    "LiveOwner",
    "OwnerReference",
    "OwnerVanished",
    "adopt",
    "owner_reference_to",
    "plan_claims",
    "release",
]


class OwnerVanished(KubeError):  # noqa: N818 - named as the API names its reasons
    """The owner is gone, is being deleted, or was created anew since the cache saw it."""

    reason = "OwnerVanished"


@dataclass(frozen=True, slots=True)
class Claims:
    """What to do with each candidate; what belongs to somebody else is in none of them."""

    keep: tuple[Json, ...] = ()
    adopt: tuple[Json, ...] = ()
    release: tuple[Json, ...] = ()


def owner_reference_to(
    owner: Json, resource: Resource, *, controller: bool = True, block: bool = True
) -> Json:
    """Build the entry of metadata.ownerReferences that points to this owner."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner["metadata"]["name"],
        "uid": uid_of(owner),
        "controller": controller,
        "blockOwnerDeletion": block,
    }


def plan_claims(owner: Json, selector: LabelSelector, candidates: Iterable[Json]) -> Claims:
    """Sort the candidates: mine to keep, orphans to adopt, mine no more to release."""
    buckets: dict[str, list[Json]] = {"keep": [], "adopt": [], "release": []}
    for candidate in candidates:
        bucket = _claim(owner, candidate, matches=selector.matches(labels_of(candidate)))
        if bucket is not None:
            buckets[bucket].append(candidate)
    return Claims(**{name: tuple(objects) for name, objects in buckets.items()})


def _claim(owner: Json, candidate: Json, *, matches: bool) -> str | None:
    controller_uid = controller_uid_of(candidate)
    if controller_uid is None:
        return "adopt" if matches and _may_adopt(owner, candidate) else None
    if controller_uid != uid_of(owner):
        return None
    if matches:
        return "keep"
    return None if is_deleting(owner) else "release"


def _may_adopt(owner: Json, candidate: Json) -> bool:
    is_within_reach = Key.of(owner).namespace in {"", Key.of(candidate).namespace}
    return is_within_reach and not is_deleting(owner) and not is_deleting(candidate)


class LiveOwner:
    """Asks the API server, once per sync, whether the owner is still the one in the cache."""

    def __init__(self, api: ApiClient, resource: Resource, owner: Json) -> None:
        self._api = api
        self._resource = resource
        self._owner = owner
        self._lock = asyncio.Lock()
        self._is_confirmed = False

    async def confirm(self) -> None:
        """Raise OwnerVanished unless the owner lives, with the same UID and not being deleted."""
        async with self._lock:
            if not self._is_confirmed:
                await self._ask()
                self._is_confirmed = True

    async def _ask(self) -> None:
        key = Key.of(self._owner)
        try:
            live = await self._api.get(self._resource, key.name, namespace=key.namespace or None)
        except NotFound as error:
            raise OwnerVanished(f"{self._resource.kind} {key} is gone") from error
        if uid_of(live) != uid_of(self._owner):
            raise OwnerVanished(
                f"{self._resource.kind} {key}: expected UID {uid_of(self._owner)}, "
                f"found {uid_of(live)}: it was created anew"
            )
        if is_deleting(live):
            raise OwnerVanished(f"{self._resource.kind} {key} is being deleted")


async def adopt(
    api: ApiClient,
    resource: Resource,
    obj: Json,
    *,
    owner: Json,
    owner_resource: Resource,
    field_manager: str,
) -> Json | None:
    """Make the owner the controller of the object; None when the object is gone or has changed."""
    entry = owner_reference_to(owner, owner_resource)
    references = [*_without(obj, uid_of(owner)), entry]
    return await _replace_references(api, resource, obj, references, field_manager)


async def release(
    api: ApiClient, resource: Resource, obj: Json, *, owner_uid: Uid, field_manager: str
) -> Json | None:
    """Take the owner's reference away; None when the object is gone or has changed."""
    references = _without(obj, owner_uid)
    return await _replace_references(api, resource, obj, references, field_manager)


def _without(obj: Json, owner_uid: Uid) -> list[Json]:
    references: list[Json] = obj["metadata"].get("ownerReferences") or []
    return [reference for reference in references if reference.get("uid") != owner_uid]


async def _replace_references(
    api: ApiClient, resource: Resource, obj: Json, references: list[Json], field_manager: str
) -> Json | None:
    """Write by JSON patch, which custom resources take too and which can test what it replaces."""
    key = Key.of(obj)
    path = "/metadata/ownerReferences"
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": uid_of(obj)},
        {"op": "test", "path": path, "value": obj["metadata"].get("ownerReferences")},
        {"op": "add", "path": path, "value": references},
    ]
    try:
        return await api.patch(
            resource,
            key.name,
            patch,
            namespace=key.namespace or None,
            type=PatchType.JSON,
            field_manager=field_manager,
        )
    except (NotFound, Invalid):
        return None  # gone, replaced or changed: the informer brings what is there now
