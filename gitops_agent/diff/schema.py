"""One node of an OpenAPI v3 schema, as the API server publishes it; pure.

Built-in kinds and CRDs alike say here how lists merge, what is defaulted and what is a quantity.
Where nothing is known the answers are those of server-side apply: maps merge, lists are atomic.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from kube_runtime.resource import Json

ListType = Literal["atomic", "map", "set"]

_QUANTITY: Final = "io.k8s.apimachinery.pkg.api.resource.Quantity"
_LIST_TYPES: Final[Mapping[str, ListType]] = {"map": "map", "set": "set"}
_MAX_REFERENCES: Final = 20


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of a value; `definitions` are what references point to."""

    raw: Json
    definitions: Mapping[str, Json] = field(repr=False)
    is_quantity: bool = False

    @property
    def list_type(self) -> ListType:
        """How server-side apply merges a list."""
        return _LIST_TYPES.get(self.raw.get("x-kubernetes-list-type", ""), "atomic")

    @property
    def map_keys(self) -> tuple[str, ...]:
        """The fields that name an item of a list of type map."""
        return tuple(self.raw.get("x-kubernetes-list-map-keys") or ())

    @property
    def is_atomic_map(self) -> bool:
        """Whether a mapping is replaced as a whole."""
        return self.raw.get("x-kubernetes-map-type") == "atomic"

    @property
    def is_nullable(self) -> bool:
        """Whether null is a value; elsewhere it means: not set."""
        return self.raw.get("nullable") is True

    @property
    def default(self) -> Any:
        """What the server puts where nothing is given, or None."""
        return self.raw.get("default")

    def child(self, name: str) -> "Schema":
        """Return the schema of a field."""
        properties = self.raw.get("properties") or {}
        found = properties.get(name, self.raw.get("additionalProperties"))
        return self._node(found)

    @property
    def items(self) -> "Schema":
        """The schema of a list's items."""
        return self._node(self.raw.get("items"))

    def _node(self, raw: Any) -> "Schema":
        return resolve(raw, self.definitions) if isinstance(raw, dict) else ANY


def resolve(raw: Json, definitions: Mapping[str, Json]) -> Schema:
    """Follow references; what stands beside one (a default) wins over its target."""
    is_quantity = False
    for _ in range(_MAX_REFERENCES):
        target = _reference(raw)
        if target is None:
            break
        is_quantity = is_quantity or target == _QUANTITY
        beside = {name: value for name, value in raw.items() if name not in ("$ref", "allOf")}
        raw = {**definitions.get(target, {}), **beside}
    return Schema(raw, definitions, is_quantity)


def for_kind(document: Json, group: str, version: str, kind: str) -> Schema:
    """Find a kind in the OpenAPI document of its group and version; ANY where it is missing."""
    definitions: Mapping[str, Json] = (document.get("components") or {}).get("schemas") or {}
    wanted = {"group": group, "version": version, "kind": kind}
    for raw in definitions.values():
        if wanted in (raw.get("x-kubernetes-group-version-kind") or ()):
            return resolve(raw, definitions)
    return ANY


def _reference(raw: Json) -> str | None:
    reference = raw.get("$ref")
    parts: list[Json] = raw.get("allOf") or []
    if reference is None and len(parts) == 1:  # the form that holds a default beside it
        reference = parts[0].get("$ref")
    return reference.rpartition("/")[2] if isinstance(reference, str) else None


ANY: Final = Schema({}, {})
