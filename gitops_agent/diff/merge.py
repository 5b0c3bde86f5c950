"""Predict what a server-side apply would make of a live object; pure.

Desired fields are put in, fields of ours that are no longer desired are taken out, all else stays.
Where two spellings mean the same (1000m and 1, 1.0 and 1) the live one stays, so that it is no
difference. The prediction may be wrong in the safe direction only: too different, never too equal;
the server's dry run decides then.
"""

from typing import Any, TypeAlias

from gitops_agent.diff import ownership, quantity
from gitops_agent.diff.ownership import NOTHING, Owned
from gitops_agent.diff.schema import Schema
from kube_runtime.resource import Json

_Key: TypeAlias = tuple[Any, ...]


def predict(live: Json, desired: Json, owned: Owned, schema: Schema) -> Json:
    """Return the object after the apply; neither argument is changed."""
    return _mapping(live, desired, owned, schema)


def _value(live: Any, desired: Any, owned: Owned, schema: Schema) -> Any:
    if isinstance(desired, dict) and not schema.is_atomic_map:
        return _mapping(live if isinstance(live, dict) else {}, desired, owned, schema)
    if isinstance(desired, list) and isinstance(live, list):
        return _list(live, desired, owned, schema)
    return live if _is_same(live, desired, schema) else _complete(desired, schema)


def _mapping(live: Json, desired: Json, owned: Owned, schema: Schema) -> Json:
    wanted = {
        name: value
        for name, value in desired.items()
        if value is not None or schema.child(name).is_nullable
    }
    result = dict(live)
    for name, node in ownership.fields(owned):
        if name in result and name not in wanted:
            _take_out(result, name, node, schema.child(name))
    for name, value in wanted.items():
        node = ownership.field(owned, name) or NOTHING
        result[name] = _value(result.get(name), value, node, schema.child(name))
    return result


def _take_out(container: Json, name: str, owned: Owned, schema: Schema) -> None:
    """Remove what was ours of a field; somebody else's part of it stays."""
    value = container[name]
    if owned and isinstance(value, dict):
        rest: Any = _mapping(value, {}, owned, schema)
    elif owned and isinstance(value, list):
        rest = _list(value, [], owned, schema)
    else:
        rest = None
    if rest:
        container[name] = rest
    else:
        del container[name]


def _list(live: list[Any], desired: list[Any], owned: Owned, schema: Schema) -> list[Any]:
    if schema.list_type == "map":
        return _keyed(live, desired, owned, schema)
    if schema.list_type == "set":
        gone = [value for value in ownership.values(owned) if value not in desired]
        kept = [value for value in live if value not in gone]
        return kept + [value for value in desired if value not in kept]
    if _is_same(live, desired, schema):
        return live
    return [_complete(item, schema.items) for item in desired]


def _keyed(live: list[Any], desired: list[Any], owned: Owned, schema: Schema) -> list[Any]:
    before, after = _by_key(live, schema), _by_key(desired, schema)
    if before is None or after is None:  # no keys, or the same one twice: the server will say
        return desired
    nodes = {_key(fields, schema): node for fields, node in ownership.items(owned)}
    kept: dict[_Key, Any] = {}
    for key, item in before.items():
        if key in after:
            node = nodes.get(key, NOTHING)
            kept[key] = _value(item, after[key], node, schema.items)
        elif key not in nodes or not ownership.owns_itself(nodes[key]):
            kept[key] = item
    added = {key: _complete(after[key], schema.items) for key in after if key not in kept}
    return _in_order(kept | added, list(after))


def _in_order(merged: dict[_Key, Any], wanted: list[_Key]) -> list[Any]:
    """Keep the live order unless the desired items stand in another order among themselves."""
    ranks = {key: rank for rank, key in enumerate(wanted)}
    common = [key for key in merged if key in ranks]
    if common == sorted(common, key=ranks.__getitem__):
        return list(merged.values())
    rest = [key for key in merged if key not in ranks]
    return [merged[key] for key in (*wanted, *rest)]


def _by_key(items: list[Any], schema: Schema) -> dict[_Key, Any] | None:
    if not schema.map_keys or not all(isinstance(item, dict) for item in items):
        return None
    result = {_key(item, schema): item for item in items}
    return result if len(result) == len(items) else None


def _key(item: Json, schema: Schema) -> _Key:
    """Return what names an item; a key field that is left out has the server's default."""
    fields = ((name, schema.items.child(name)) for name in schema.map_keys)
    return tuple(repr(item.get(name, field.default)) for name, field in fields)


def _complete(desired: Any, schema: Schema) -> Any:
    """Fill in the defaults that the schema names, as the server would in a new part."""
    if isinstance(desired, list):
        return [_complete(item, schema.items) for item in desired]
    if not isinstance(desired, dict):
        return desired
    defaults = {}
    for name in schema.raw.get("properties") or {}:
        child = schema.child(name)
        if name not in desired and child.default not in (None, {}):
            defaults[name] = child.default
    given = {
        name: _complete(value, schema.child(name))
        for name, value in desired.items()
        if value is not None or schema.child(name).is_nullable
    }
    return defaults | given


def _is_same(live: Any, desired: Any, schema: Schema) -> bool:
    """Whether two values mean the same; types count, but for numbers and quantities."""
    if isinstance(live, list) and isinstance(desired, list):
        pairs = zip(live, desired, strict=False)
        return len(live) == len(desired) and all(
            _is_same(one, other, schema.items) for one, other in pairs
        )
    if isinstance(live, dict) and isinstance(desired, dict):
        full = _complete(desired, schema)
        return live.keys() == full.keys() and all(
            _is_same(live[name], full[name], schema.child(name)) for name in live
        )
    if schema.is_quantity and quantity.are_equal(live, desired):
        return True
    if isinstance(live, bool) or isinstance(desired, bool):
        return live is desired
    is_number = isinstance(live, int | float) and isinstance(desired, int | float)
    return bool(live == desired) and (is_number or type(live) is type(desired))
