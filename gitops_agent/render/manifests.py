"""From parsed documents to a checked set of objects; pure.

Lists are flattened, namespaces are filled in or taken away as the kind's scope says, and an object that
is declared twice is an error: identity does not look at the version.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from gitops_agent.errors import LimitExceeded, RenderFailed, UnknownKind
from gitops_agent.objects import GroupKind, Manifest, Redactor
from kube_runtime.resource import Json

IsNamespaced = Callable[[GroupKind], bool | None]
"""Whether the cluster serves the kind per namespace; None where it does not serve it."""

# Each takes some 300 bytes of the Application's status, and etcd keeps no object above 1.5 MiB.
_MAX_OBJECTS: Final = 4_000
_CRD: Final = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
_SERVER_FIELDS: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "ownerReferences",
)


def flatten(documents: Iterable[tuple[str, Any]]) -> list[tuple[str, Json]]:
    """Return every object with its source, Lists taken apart, what only servers write left out."""
    objects = [found for source, value in documents for found in _objects(source, value)]
    if len(objects) > _MAX_OBJECTS:
        raise LimitExceeded(f"{len(objects)} objects, at most {_MAX_OBJECTS} make one Application")
    return objects


def assemble(
    objects: Sequence[tuple[str, Json]],
    *,
    namespace: str,
    is_namespaced: IsNamespaced,
    redactor: Redactor,
    finish: Callable[[Json], Json] = lambda body: body,
) -> tuple[Manifest, ...]:
    """Give each object its namespace and refuse duplicates; raises UnknownKind, RenderFailed.

    `finish` puts on what the agent itself adds, such as the mark of the owner.
    """
    scopes = _scopes_of_own_crds(objects)
    manifests: dict[object, Manifest] = {}
    for source, obj in objects:
        kind = GroupKind.of(obj)
        scoped = is_namespaced(kind)
        scoped = scopes.get(kind) if scoped is None else scoped
        if scoped is None:
            raise UnknownKind(
                f"{source}: the cluster serves no {kind} ({obj['apiVersion']}); "
                "install its CustomResourceDefinition first, or put it into the same Application"
            )
        manifest = Manifest.of(
            finish(_placed(obj, namespace, scoped)), source=source, redactor=redactor
        )
        if (first := manifests.get(manifest.id)) is not None:
            raise RenderFailed(f"{manifest.id} is declared twice: {first.source} and {source}")
        manifests[manifest.id] = manifest
    return tuple(manifests.values())


def _objects(source: str, value: Any) -> Iterator[tuple[str, Json]]:
    if not isinstance(value, dict):
        raise RenderFailed(f"{source}: expected an object, found {_name(value)}")
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not isinstance(api_version, str) or not kind:
        raise RenderFailed(f"{source}: expected apiVersion and kind, found none; exclude the file")
    if kind.endswith("List") and "items" in value:
        items = value["items"] or []
        if not isinstance(items, list):
            raise RenderFailed(f"{source}: {kind}.items: expected a list, found {_name(items)}")
        for item in items:
            yield from _objects(source, item)
        return
    yield source, _cleaned(source, value)


def _cleaned(source: str, obj: Json) -> Json:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        hint = "; generateName makes a new object at each sync" if metadata else ""
        raise RenderFailed(f"{source}: {obj['kind']}: expected metadata.name, found none{hint}")
    for field in ("labels", "annotations"):
        _check_texts(source, obj["kind"], field, metadata.get(field))
    kept = {name: value for name, value in metadata.items() if name not in _SERVER_FIELDS}
    kept = {name: value for name, value in kept.items() if value is not None}
    body = {name: value for name, value in obj.items() if name != "status" and value is not None}
    return {**body, "metadata": kept}


def _check_texts(source: str, kind: str, field: str, value: Any) -> None:
    if value is None:
        return
    if not isinstance(value, dict):
        raise RenderFailed(f"{source}: {kind}: metadata.{field}: expected a mapping")
    for name, text in value.items():
        if not isinstance(text, str):
            raise RenderFailed(
                f"{source}: {kind}: metadata.{field}.{name}: expected a text, "
                f"found {_name(text)}; quote it"
            )


def _placed(obj: Json, namespace: str, is_scoped: bool) -> Json:  # noqa: FBT001
    metadata = {name: value for name, value in obj["metadata"].items() if name != "namespace"}
    if is_scoped:
        metadata["namespace"] = obj["metadata"].get("namespace") or namespace
    return {**obj, "metadata": metadata}


def _scopes_of_own_crds(objects: Iterable[tuple[str, Json]]) -> dict[GroupKind, bool]:
    scopes = {}
    for _, obj in objects:
        if GroupKind.of(obj) == _CRD:
            spec = obj.get("spec") or {}
            kind = (spec.get("names") or {}).get("kind", "")
            scopes[GroupKind(spec.get("group", ""), kind)] = spec.get("scope") == "Namespaced"
    return scopes


def _name(value: object) -> str:
    names = {dict: "a mapping", list: "a list", str: "a text", bool: "a boolean", int: "a number"}
    return names.get(type(value), "nothing" if value is None else "a number")
