"""Which ConfigMaps and Secrets a pod template refers to, and the same template with other names.

Volumes (configMap, secret, projected) and the environment of every sort of container. Not pull
secrets, not what a volume driver logs in with, not tokens: nobody's program reads those.
The same walk finds and rewrites, so nothing can be found that is not rewritten. Pure.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from kube_runtime.resource import Json

SourceKind = Literal["ConfigMap", "Secret"]
_Field: TypeAlias = tuple[str, SourceKind, str]

# Where a reference hangs, the kind it means, and the field with the name.
_VOLUME: Final[tuple[_Field, ...]] = (
    ("configMap", "ConfigMap", "name"),
    ("secret", "Secret", "secretName"),
)
_PROJECTED: Final[tuple[_Field, ...]] = (
    ("configMap", "ConfigMap", "name"),
    ("secret", "Secret", "name"),
)
_VALUE_FROM: Final[tuple[_Field, ...]] = (
    ("configMapKeyRef", "ConfigMap", "name"),
    ("secretKeyRef", "Secret", "name"),
)
_ENV_FROM: Final[tuple[_Field, ...]] = (
    ("configMapRef", "ConfigMap", "name"),
    ("secretRef", "Secret", "name"),
)
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


class Source(NamedTuple):
    """A ConfigMap or a Secret of the Rollout's namespace."""

    kind: SourceKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Reference:
    """A source that a template refers to, once or many times."""

    source: Source
    is_optional: bool
    """Pods start without it: every use of it says optional."""


class _Use(NamedTuple):
    source: Source
    holder: Json
    field: str
    is_optional: bool


def references_of(template: Json) -> tuple[Reference, ...]:
    """List what the template refers to, each source once, in the order of its first use."""
    found: dict[Source, bool] = {}
    for use in _uses(template):
        found[use.source] = found.get(use.source, True) and use.is_optional
    return tuple(Reference(source, is_optional) for source, is_optional in found.items())


def rewritten(template: Json, new_names: Mapping[Source, str]) -> Json:
    """Return the template with other names for these sources; the template itself if with none."""
    if not any(use.source in new_names for use in _uses(template)):
        return template
    result = copy.deepcopy(template)
    for use in list(_uses(result)):
        if use.source in new_names:
            use.holder[use.field] = new_names[use.source]
    return result


def _uses(template: Json) -> Iterator[_Use]:
    # Templates are opaque to the CRD: whatever has another shape than a pod's is no reference.
    spec = _dict(template.get("spec"))
    for volume in _dicts(spec.get("volumes")):
        yield from _read(volume, _VOLUME)
        for part in _dicts(_dict(volume.get("projected")).get("sources")):
            yield from _read(part, _PROJECTED)
    for field in _CONTAINERS:
        for container in _dicts(spec.get(field)):
            for variable in _dicts(container.get("env")):
                yield from _read(_dict(variable.get("valueFrom")), _VALUE_FROM)
            for bulk in _dicts(container.get("envFrom")):
                yield from _read(bulk, _ENV_FROM)


def _read(parent: Json, fields: Iterable[_Field]) -> Iterator[_Use]:
    for key, kind, name_field in fields:
        holder = _dict(parent.get(key))
        name = holder.get(name_field)
        if isinstance(name, str) and name:
            yield _Use(Source(kind, name), holder, name_field, holder.get("optional") is True)


def _dict(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _dicts(value: Any) -> Iterator[Json]:
    for entry in value if isinstance(value, list) else ():
        if isinstance(entry, dict):
            yield entry
