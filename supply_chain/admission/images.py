"""Where images stand in the objects that the webhook sees."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kube_runtime.resource import Json
from supply_chain.errors import SupplyChainError

_POD: Final = ("spec",)
_TEMPLATE: Final = ("spec", "template", "spec")
_CRON_TEMPLATE: Final = ("spec", "jobTemplate", "spec", "template", "spec")
_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": _POD,
    "ReplicationController": _TEMPLATE,
    "ReplicaSet": _TEMPLATE,
    "Deployment": _TEMPLATE,
    "StatefulSet": _TEMPLATE,
    "DaemonSet": _TEMPLATE,
    "Job": _TEMPLATE,
    "CronJob": _CRON_TEMPLATE,
    "PodSet": _TEMPLATE,
    "Rollout": _TEMPLATE,
}
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


class UnreadableObject(SupplyChainError):  # noqa: N818 - named as what happened
    """An object of a kind or a shape that the webhook does not know."""

    reason = "UnreadableObject"


@dataclass(frozen=True, slots=True)
class ImageUse:
    """One image in an object; `pointer` is its JSON pointer, `slot` who uses it."""

    pointer: str
    slot: str
    image: str


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """What of a pod, or of a pod to be, matters here."""

    uses: tuple[ImageUse, ...]
    pull_secrets: tuple[str, ...]
    service_account: str


def read_template(obj: Json, kind: str) -> PodTemplate:
    """Read the pod spec in an object; raises UnreadableObject."""
    path = _PATHS.get(kind)
    if path is None:
        raise UnreadableObject(f"kind {kind} holds no pod template that this webhook knows")
    spec: Any = obj
    for step in path:
        spec = spec.get(step) if isinstance(spec, dict) else None
    if not isinstance(spec, dict):
        raise UnreadableObject(f"{kind}: expected an object at {'.'.join(path)}, found none")
    return PodTemplate(
        uses=tuple(_uses(spec, "/" + "/".join(path))),
        pull_secrets=tuple(_names(spec.get("imagePullSecrets"))),
        service_account=str(spec.get("serviceAccountName") or "default"),
    )


def changed_uses(new: PodTemplate, old: PodTemplate | None) -> list[ImageUse]:
    """Return the images that are new, or that another slot used before."""
    known = {(use.slot, use.image) for use in old.uses} if old else set()
    return [use for use in new.uses if (use.slot, use.image) not in known]


def _uses(spec: Json, base: str) -> Iterator[ImageUse]:
    for field in _CONTAINERS:
        for at, container in enumerate(_objects(spec.get(field), field)):
            yield from _use(container.get("image"), f"{base}/{field}/{at}/image", field, container)
    for at, volume in enumerate(_objects(spec.get("volumes"), "volumes")):
        source = volume.get("image")
        if isinstance(source, dict):
            pointer = f"{base}/volumes/{at}/image/reference"
            yield from _use(source.get("reference"), pointer, "volumes", volume)


def _use(image: object, pointer: str, field: str, owner: Mapping[str, Any]) -> Iterator[ImageUse]:
    if image is None or image == "":
        return  # the API server's own validation refuses it wherever it may not be empty
    if not isinstance(image, str):
        raise UnreadableObject(f"expected a text at {pointer}, found {type(image).__name__}")
    yield ImageUse(pointer, f"{field}/{owner.get('name')}", image)


def _objects(raw: object, field: str) -> Sequence[Mapping[str, Any]]:
    if raw is None:
        return ()
    if not isinstance(raw, list) or not all(isinstance(item, dict) for item in raw):
        raise UnreadableObject(f"expected a list of objects at {field}")
    return raw


def _names(raw: object) -> Iterator[str]:
    for item in raw if isinstance(raw, list) else ():
        if isinstance(item, dict) and isinstance(item.get("name"), str):
            yield item["name"]
