"""Which fields of a live object our field manager applied last: managedFields, read as a tree; pure.

This is the third side of the three-way diff: a field of ours that Git no longer has is to go, a field
that was never ours stays.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from kube_runtime.resource import Json

Owned = Mapping[str, Any]
"""A node of fieldsV1: keys are f:NAME, k:{...}, v:VALUE or `.`; an empty mapping is a leaf."""

NOTHING: Final[Owned] = {}
_SELF: Final = "."


def owned_by(obj: Json, manager: str) -> Owned:
    """Return what the manager owns by apply."""
    for entry in obj["metadata"].get("managedFields") or ():
        is_ours = entry.get("manager") == manager and entry.get("operation") == "Apply"
        if is_ours and not entry.get("subresource"):
            fields: Owned = entry.get("fieldsV1") or NOTHING
            return fields
    return NOTHING


def field(owned: Owned, name: str) -> Owned | None:
    """Return what is owned of a field; None where it is not owned at all."""
    return owned.get(f"f:{name}")


def fields(owned: Owned) -> Iterator[tuple[str, Owned]]:
    """Yield every owned field by name."""
    for key, node in owned.items():
        if key.startswith("f:"):
            yield key[2:], node


def items(owned: Owned) -> Iterator[tuple[Json, Owned]]:
    """Yield every owned item of a list of type map, by its key fields."""
    for key, node in owned.items():
        if key.startswith("k:"):
            yield orjson.loads(key[2:]), node


def values(owned: Owned) -> Iterator[Any]:
    """Yield every owned value of a list of type set."""
    for key in owned:
        if key.startswith("v:"):
            yield orjson.loads(key[2:])


def owns_itself(owned: Owned) -> bool:
    """Whether the thing itself is owned, not only something below it."""
    return not owned or _SELF in owned


def only_ours(obj: Json, manager: str) -> Json:
    """Drop all managedFields but ours, and keep the names of the others: what a store needs."""
    entries = obj["metadata"].get("managedFields") or ()
    kept = [
        entry
        if entry.get("manager") == manager and entry.get("operation") == "Apply"
        else {"manager": entry.get("manager"), "operation": entry.get("operation")}
        for entry in entries
    ]
    return {**obj, "metadata": {**obj["metadata"], "managedFields": kept}}


def other_managers(obj: Json, manager: str) -> tuple[str, ...]:
    """Name the other field managers of an object."""
    entries = obj["metadata"].get("managedFields") or ()
    names = {str(entry.get("manager")) for entry in entries}
    return tuple(sorted(names - {manager}))
