"""The guard before the first create, delete or adoption of a sync.

The cache may still show an owner that is gone, that was created anew, or whose spec has changed;
the API server does not. Asking costs one GET per sync that writes.
"""

from kube_runtime.api import ApiClient
from kube_runtime.errors import NotFound
from kube_runtime.ownership import OwnerVanished
from kube_runtime.resource import Json, Key, Resource, generation_of, is_deleting, uid_of
from workloads.errors import StaleCacheError


async def confirm_owner(api: ApiClient, resource: Resource, cached: Json) -> None:
    """Raise OwnerVanished or StaleCacheError unless the owner is still what the cache says."""
    key = Key.of(cached)
    try:
        live = await api.get(resource, key.name, namespace=key.namespace)
    except NotFound as error:
        raise OwnerVanished(f"{resource.kind} {key} is gone") from error
    if uid_of(live) != uid_of(cached):
        raise OwnerVanished(f"{resource.kind} {key} was created anew")
    if is_deleting(live):
        raise OwnerVanished(f"{resource.kind} {key} is being deleted")
    if generation_of(live) != generation_of(cached):
        raise StaleCacheError(
            f"{resource.kind} {key}: expected generation {generation_of(cached)}, "
            f"found {generation_of(live)}; the cache will catch up"
        )
