"""The copies themselves: what one looks like, who owns it, which ones nobody needs. Pure.

A copy is immutable and belongs to every PodSet whose template names it, so the garbage collector
takes it away with the last of them. Until its PodSet is there it belongs to the Rollout.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kube_runtime.ownership import owner_reference_to
from kube_runtime.resource import CONFIG_MAPS, SECRETS, Json, Resource, Uid, labels_of, uid_of
from workloads import names
from workloads.rollout.config.references import Source, SourceKind, references_of

RESOURCES: Final[Mapping[SourceKind, Resource]] = {"ConfigMap": CONFIG_MAPS, "Secret": SECRETS}
# A type of its own: no controller that acts on tokens or certificates takes it for one.
SECRET_TYPE: Final = f"{names.GROUP}/config-copy"
TOKEN_TYPE: Final = "kubernetes.io/service-account-token"  # noqa: S105 - a type, not a token
_DATA: Final = ("data", "binaryData")


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What to do so that copies live as long as their revisions."""

    own: tuple[tuple[Json, list[Json]], ...] = field(default=(), hash=False)
    """Copies, each with the owner references that it shall have."""
    delete: tuple[Json, ...] = field(default=(), hash=False)


def copy_body(rollout: Json, source: Source, live: Json, name: str) -> Json:
    """Build the copy of a ConfigMap or Secret."""
    body: Json = {
        "apiVersion": "v1",
        "kind": source.kind,
        "metadata": {
            "name": name,
            "namespace": rollout["metadata"]["namespace"],
            "labels": {names.CONFIG_OF: uid_of(rollout)},
            "annotations": {
                names.COPIED_FROM: source.name,
                names.COPIED_FOR: rollout["metadata"]["name"],
            },
            "ownerReferences": [_reference(rollout, names.ROLLOUTS)],
        },
        "immutable": True,
    }
    if source.kind == "Secret":
        body["type"] = SECRET_TYPE
    return body | {part: live[part] for part in _DATA if live.get(part)}


def is_copy_of(obj: Json, rollout_uid: Uid) -> bool:
    """Tell whether this is a copy that was made for the Rollout."""
    return labels_of(obj).get(names.CONFIG_OF) == rollout_uid


def plan_upkeep(
    rollout: Json,
    podsets: Iterable[Json],
    copies: Iterable[tuple[SourceKind, Json]],
    *,
    wanted: Collection[Source],
    is_podset: Callable[[Json], bool],
) -> Upkeep:
    """Give each copy to the PodSets that name it; what nobody names or is about to goes.

    `is_podset` tells whether an owner reference leads to a PodSet that is there, of any Rollout.
    """
    users = _users(podsets)
    own, delete = [], []
    for kind, copy in copies:
        source = Source(kind, copy["metadata"]["name"])
        present: list[Json] = copy["metadata"].get("ownerReferences") or []
        if source in users:
            aim = _owners(rollout, present, users[source])
            if aim != present:
                own.append((copy, aim))
        elif source not in wanted and not any(map(is_podset, present)):
            delete.append(copy)
    return Upkeep(tuple(own), tuple(delete))


def _users(podsets: Iterable[Json]) -> dict[Source, list[Json]]:
    users: dict[Source, list[Json]] = {}
    for podset in podsets:
        for reference in references_of(podset["spec"].get("template") or {}):
            users.setdefault(reference.source, []).append(podset)
    return users


def _owners(rollout: Json, present: list[Json], podsets: list[Json]) -> list[Json]:
    """Keep those that are there, but for the Rollout; add the PodSets that are not."""
    kept = [entry for entry in present if entry.get("uid") != uid_of(rollout)]
    have = {entry.get("uid") for entry in kept}
    new = [podset for podset in podsets if uid_of(podset) not in have]
    return [*kept, *(_reference(podset, names.PODSETS) for podset in new)]


def _reference(owner: Json, resource: Resource) -> Json:
    return owner_reference_to(owner, resource, controller=False, block=False)
