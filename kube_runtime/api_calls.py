"""Builds the request for each verb of the API. Pure: objects in, one Call out."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

import orjson

from kube_runtime.resource import Json, Key, Resource
from kube_runtime.transport import Call

# Ask for identities without contents; a server that cannot leave them out sends it all.
_METADATA: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_METADATA_LIST: Final = _METADATA.replace("Metadata;", "MetadataList;")

# POSTs that ask instead of writing: a process that does not lead may authenticate a scrape.
_QUESTIONS: Final = ("/apis/authentication.k8s.io/", "/apis/authorization.k8s.io/")


class PatchType(Enum):
    """How the body of a patch is meant; the value is its media type."""

    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"
    STRATEGIC = "application/strategic-merge-patch+json"
    APPLY = "application/apply-patch+yaml"  # JSON is YAML


def is_mutating(call: Call) -> bool:
    """Tell whether the call would change something in the cluster."""
    if call.method == "GET" or call.params.get("dryRun") == "All":
        return False
    return not call.path.startswith(_QUESTIONS)


def list_call(
    resource: Resource,
    namespace: str | None,
    *,
    label_selector: str | None,
    field_selector: str | None,
    limit: int | None,
    resource_version: str | None,
    continue_token: str = "",
    metadata_only: bool = False,
) -> Call:
    """Ask for one page of a collection."""
    return Call(
        "GET",
        resource.path(namespace=namespace),
        _params(
            labelSelector=label_selector,
            fieldSelector=field_selector,
            limit=str(limit) if limit else None,
            resourceVersion=None if continue_token else resource_version,
            **{"continue": continue_token or None},
        ),
        headers=(("Accept", _METADATA_LIST),) if metadata_only else (),
    )


def watch_call(
    resource: Resource,
    namespace: str | None,
    *,
    resource_version: str,
    label_selector: str | None,
    field_selector: str | None,
    timeout_seconds: int,
    metadata_only: bool = False,
) -> Call:
    """Ask for what changes in a collection from a resourceVersion on, with bookmarks."""
    return Call(
        "GET",
        resource.path(namespace=namespace),
        _params(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=resource_version,
            labelSelector=label_selector,
            fieldSelector=field_selector,
            timeoutSeconds=str(timeout_seconds),
        ),
        headers=(("Accept", _METADATA),) if metadata_only else (),
    )


def create_call(
    resource: Resource,
    body: Json,
    *,
    namespace: str | None,
    name: str | None,
    subresource: str | None,
    field_manager: str | None,
    dry_run: bool,
) -> Call:
    """Create an object, or post to a subresource of one (eviction, token, binding)."""
    metadata = body.get("metadata") or {}
    path = resource.path(
        namespace=namespace or metadata.get("namespace"),
        name=(name or metadata["name"]) if subresource else None,
        subresource=subresource,
    )
    return Call("POST", path, _write_params(field_manager, dry_run=dry_run), orjson.dumps(body))


def replace_call(
    resource: Resource,
    body: Json,
    *,
    subresource: str | None,
    field_manager: str | None,
    dry_run: bool,
) -> Call:
    """Replace an object whole; with a resourceVersion in the body, only if it is still that."""
    key = Key.of(body)
    path = resource.path(namespace=key.namespace, name=key.name, subresource=subresource)
    return Call("PUT", path, _write_params(field_manager, dry_run=dry_run), orjson.dumps(body))


def patch_call(
    resource: Resource,
    key: Key,
    body: Json | Sequence[Json],
    *,
    patch_type: PatchType,
    subresource: str | None,
    field_manager: str | None,
    force: bool,
    dry_run: bool,
) -> Call:
    """Patch an object; `force` takes fields from other managers and is for APPLY alone."""
    params = _write_params(field_manager, dry_run=dry_run)
    if force and patch_type is PatchType.APPLY:
        params["force"] = "true"
    path = resource.path(namespace=key.namespace, name=key.name, subresource=subresource)
    return Call("PATCH", path, params, orjson.dumps(body), patch_type.value)


def delete_call(
    resource: Resource,
    key: Key,
    *,
    uid: str | None,
    resource_version: str | None,
    propagation_policy: str | None,
    grace_period_seconds: int | None,
    dry_run: bool,
) -> Call:
    """Delete an object, only if it still has the uid and resourceVersion when they are given."""
    options: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
    preconditions = _params(uid=uid, resourceVersion=resource_version)
    if preconditions:
        options["preconditions"] = preconditions
    if propagation_policy is not None:
        options["propagationPolicy"] = propagation_policy
    if grace_period_seconds is not None:
        options["gracePeriodSeconds"] = grace_period_seconds
    path = resource.path(namespace=key.namespace, name=key.name)
    return Call("DELETE", path, _write_params(None, dry_run=dry_run), orjson.dumps(options))


def raw_call(
    method: str,
    path: str,
    *,
    params: Mapping[str, str] | None,
    body: object,
    content_type: str,
    accept: str | None,
) -> Call:
    """Ask anything else; bytes are sent as they are, the rest as JSON."""
    encoded = body if body is None or isinstance(body, bytes) else orjson.dumps(body)
    headers = (("Accept", accept),) if accept else ()
    return Call(method.upper(), path, dict(params or {}), encoded, content_type, headers)


def _write_params(field_manager: str | None, *, dry_run: bool) -> dict[str, str]:
    return _params(fieldManager=field_manager, dryRun="All" if dry_run else None)


def _params(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
