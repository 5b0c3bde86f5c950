"""Reads what the API server answers: pages of a collection, events of a watch. Pure."""

from collections.abc import Callable
from typing import NamedTuple

import orjson

from kube_runtime.errors import BrokenStream, error_from_status
from kube_runtime.resource import Json, Resource
from kube_runtime.transport import Call


class ListResult(NamedTuple):
    """A whole collection, as it was at one resourceVersion."""

    items: list[Json]
    resource_version: str


class WatchEvent(NamedTuple):
    """One change; the type is ADDED, MODIFIED, DELETED or BOOKMARK."""

    type: str
    object: Json


class Page(NamedTuple):
    """A part of a collection; without a token it was the last."""

    items: list[Json]
    resource_version: str
    continue_token: str


def read_page(
    page: Json, resource: Resource, transform: Callable[[Json], Json] | None, call: Call
) -> Page:
    """Read a List; its items get the apiVersion and kind that built-in lists leave out."""
    try:
        metadata = page["metadata"]
        items: list[Json] = page["items"] or []
        version: str = metadata["resourceVersion"]
    except (KeyError, TypeError) as error:
        raise BrokenStream(
            f"{call}: expected a list with items and metadata.resourceVersion, "
            "found something else; is this an API server?"
        ) from error
    for item in items:
        item.setdefault("apiVersion", resource.api_version)
        item.setdefault("kind", resource.kind)
    if transform is not None:
        items = [transform(item) for item in items]
    return Page(items, version, metadata.get("continue") or "")


def read_event(line: bytes, call: Call) -> WatchEvent:
    """Read a line of a watch; raise the ApiError of an ERROR event, or BrokenStream."""
    try:
        raw = orjson.loads(line)
        kind, obj = raw["type"], raw["object"]
    except (orjson.JSONDecodeError, LookupError, TypeError) as error:
        raise BrokenStream(
            f"{call}: expected an event with type and object, found what does not parse; "
            "the objects are listed instead"
        ) from error
    if kind == "ERROR":
        refusal = error_from_status(obj if isinstance(obj, dict) else {}, request=str(call))
        refusal.in_stream = True
        raise refusal
    return WatchEvent(kind, obj)
