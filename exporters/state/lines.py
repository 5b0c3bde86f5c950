"""Turns one custom resource into the lines of its families; pure, and called once per change.

Trusts the API server for names and reads the rest with care: what is absent or of another type
yields no line, since a guessed value would be a lie that somebody is paged for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from exporters.catalogue.state import CONDITION_STATUSES
from exporters.state import text
from exporters.state.store import Lines
from kube_runtime.resource import Json, Resource

Identity: TypeAlias = str
"""The rendered labels that identify the object."""

Extra: TypeAlias = Callable[[Identity, Json], Mapping[str, Sequence[str]]]
"""A kind's own families: from the object's identity and the object."""


def render(
    resource: Resource, obj: Json, *, conditions: Sequence[str], extras: Iterable[Extra] = ()
) -> Lines:
    """Render an object of this kind; only the conditions of the allow-list are shown."""
    identity = identity_of(resource.kind, obj)
    metadata, status = obj["metadata"], _mapping(obj.get("status"))
    families: dict[str, Sequence[str]] = {
        "levelset_resource_info": [
            text.line("levelset_resource_info", f'{identity},version="{resource.version}"', 1)
        ],
        "levelset_resource_status_condition": _conditions(identity, status, conditions),
    }
    numbers = {
        "levelset_resource_metadata_generation": _number(metadata.get("generation")),
        "levelset_resource_status_observed_generation": _number(status.get("observedGeneration")),
        "levelset_resource_created_timestamp_seconds": _moment(metadata.get("creationTimestamp")),
        "levelset_resource_deletion_timestamp_seconds": _moment(metadata.get("deletionTimestamp")),
    }
    families |= {name: _one(name, identity, number) for name, number in numbers.items()}
    for extra in extras:
        families |= extra(identity, obj)
    return families


def identity_of(kind: str, obj: Json) -> Identity:
    """Render the labels that make the object's series unique."""
    metadata = obj["metadata"]
    pairs = (
        ("kind", kind),
        ("exported_namespace", metadata.get("namespace", "")),
        ("name", metadata["name"]),
    )
    return text.labels(pairs)


def suspended(field: str) -> Extra:
    """Make the family that tells whether spec.<field> asks for a pause."""

    def render_suspended(identity: Identity, obj: Json) -> Mapping[str, Sequence[str]]:
        is_suspended = _mapping(obj.get("spec")).get(field) is True
        name = "levelset_resource_suspended"
        return {name: _one(name, identity, int(is_suspended))}

    return render_suspended


def replicas(identity: Identity, obj: Json) -> Mapping[str, Sequence[str]]:
    """Render the counts of pods."""
    spec, status = _mapping(obj.get("spec")), _mapping(obj.get("status"))
    counts = {
        "desired": _number(spec.get("replicas", 1)),  # as the API's default
        "current": _number(status.get("replicas")),
        "updated": _number(status.get("updatedReplicas")),
        "ready": _number(status.get("readyReplicas")),
        "available": _number(status.get("availableReplicas")),
        "terminating": _number(status.get("terminatingReplicas")),
    }
    name = "levelset_resource_status_replicas"
    return {
        name: [
            text.line(name, f'{identity},state="{state}"', count)
            for state, count in counts.items()
            if count is not None
        ]
    }


def application(_identity: Identity, obj: Json) -> Mapping[str, Sequence[str]]:
    """Render what only an Application has."""
    spec, status = _mapping(obj.get("spec")), _mapping(obj.get("status"))
    metadata = obj["metadata"]
    app = (("exported_namespace", metadata.get("namespace", "")), ("name", metadata["name"]))
    info = (
        *app,
        ("project", _word(spec.get("project"), "default")),
        ("sync_status", _word(_mapping(status.get("sync")).get("status"), "Unknown")),
        ("health_status", _word(_mapping(status.get("health")).get("status"), "Unknown")),
    )
    synced_at = _moment(_mapping(status.get("operationState")).get("finishedAt"))
    drifted = sum(
        _mapping(resource).get("status") == "OutOfSync" for resource in _items(status, "resources")
    )
    last_sync, drift = "levelset_app_last_sync_timestamp_seconds", "levelset_app_drifted_resources"
    return {
        drift: _one(drift, text.labels(app), drifted if status.get("sync") else None),
        "levelset_app_info": [text.line("levelset_app_info", text.labels(info), 1)],
        last_sync: _one(last_sync, text.labels(app), synced_at),
    }


def _conditions(identity: Identity, status: Json, allowed: Sequence[str]) -> list[str]:
    found = {
        condition.get("type"): str(condition.get("status", "")).lower()
        for condition in map(_mapping, _items(status, "conditions"))
    }
    return [
        text.line(
            "levelset_resource_status_condition",
            f'{identity},condition="{condition}",status="{status}"',
            int(status == _known(found[condition])),
        )
        for condition in allowed
        if condition in found
        for status in CONDITION_STATUSES
    ]


def _known(status: str) -> str:
    return status if status in CONDITION_STATUSES else "unknown"


def _one(name: str, identity: Identity, value: float | None) -> Sequence[str]:
    return () if value is None else (text.line(name, identity, value),)


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _items(parent: Json, field: str) -> Sequence[Any]:
    found = parent.get(field)
    return found if isinstance(found, list) else ()


def _word(value: Any, default: str) -> str:
    return value if isinstance(value, str) and value else default


def _number(value: Any) -> float | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _moment(value: Any) -> float | None:
    """Read an RFC 3339 time as seconds; None for anything else."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo else None
