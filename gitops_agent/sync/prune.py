"""Which objects are to be deleted, and every reason not to; pure.

A delete needs proof, never absence of evidence: a fresh and complete render of this very commit, an
inventory that names the object by UID, our own mark on it, and a number that looks like a wish. What
fails a test is held and reported; an error is never the same as empty.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gitops_agent.names import OBJECT_OPTIONS_ANNOTATION
from gitops_agent.objects import GroupKind, ObjectId
from gitops_agent.resources import InventoryEntry
from gitops_agent.sync.owners import Owner, owner_of
from kube_runtime.resource import Json, annotations_of, is_deleting, uid_of

_BUDGET_OBJECTS: Final = 10
_BUDGET_SHARE: Final = 0.25
_PRECIOUS: Final = frozenset(
    {
        GroupKind("", "Namespace"),
        GroupKind("", "PersistentVolume"),
        GroupKind("", "PersistentVolumeClaim"),
        GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"),
    }
)


@dataclass(frozen=True, slots=True)
class PruneQuestion:
    """Everything that decides over deletion."""

    inventory: Sequence[InventoryEntry]
    desired: Collection[ObjectId]
    live: Mapping[ObjectId, Json | None]
    """None: looked for and not there. An id that is missing here has not been looked for."""
    application_uid: str
    living: Collection[str]
    is_same_cluster: bool
    allows_empty: bool
    is_confirmed: bool
    """A person asked for this very sync with prune: the budget and precious kinds do not hold it."""


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What is to be deleted, what is held back and why, and what the inventory becomes."""

    delete: tuple[InventoryEntry, ...] = ()
    held: tuple[tuple[ObjectId, str], ...] = ()
    leaving: tuple[InventoryEntry, ...] = ()
    """What has been deleted and is still there: a finalizer holds it."""
    entries: tuple[InventoryEntry, ...] = ()

    @property
    def extraneous(self) -> tuple[ObjectId, ...]:
        """Everything of ours that Git no longer has."""
        going = (entry.id for entry in (*self.delete, *self.leaving))
        return (*going, *(object_id for object_id, _ in self.held))


def plan_prune(question: PruneQuestion) -> PrunePlan:
    """Sort the inventory into what stays, what goes and what is held."""
    entries = tuple(_retired(question))
    gone = [entry for entry in entries if entry.id not in question.desired]
    leaving = tuple(entry for entry in gone if _is_leaving(entry, question))
    doubts = [(entry, _doubt(entry, question)) for entry in gone if entry not in leaving]
    delete = tuple(entry for entry, doubt in doubts if doubt is None)
    held = tuple((entry.id, doubt) for entry, doubt in doubts if doubt is not None)
    if reason := _excess(delete, question):
        held += tuple((entry.id, reason) for entry in delete)
        delete = ()
    return PrunePlan(delete, held, leaving, entries)


def _retired(question: PruneQuestion) -> list[InventoryEntry]:
    """Drop the entries whose object is seen to be gone, and learn UIDs that were not yet noted."""
    kept = []
    for entry in question.inventory:
        if entry.id not in question.live:
            kept.append(entry)
            continue
        live = question.live[entry.id]
        if live is None:
            if entry.id in question.desired:
                kept.append(replace(entry, uid=""))
            continue
        is_ours = owner_of(live, question.application_uid, question.living) is Owner.US
        if entry.id in question.desired or (is_ours and not entry.uid):
            kept.append(replace(entry, uid=uid_of(live)) if is_ours else entry)
        elif entry.uid == uid_of(live) and is_ours:
            kept.append(entry)
        # Else it is another object under the old name, or it has been taken over: not ours.
    return kept


def _is_leaving(entry: InventoryEntry, question: PruneQuestion) -> bool:
    live = question.live.get(entry.id)
    return live is not None and is_deleting(live)


def _doubt(  # noqa: PLR0911 - one return for each reason
    entry: InventoryEntry, question: PruneQuestion
) -> str | None:
    """Say why an object that left Git must stay, or None."""
    live = question.live.get(entry.id)
    if live is None:
        return "its kind cannot be looked at"
    if not question.is_same_cluster:
        return "the inventory was written for another cluster"
    if not question.desired and not question.allows_empty:
        return "the commit renders to nothing at all; allowEmpty says that this is meant"
    if not entry.uid or entry.uid != uid_of(live):
        return "it is not the object that was applied"
    options = annotations_of(live).get(OBJECT_OPTIONS_ANNOTATION, "").split(",")
    if "Prune=false" in map(str.strip, options):
        return "its annotation says Prune=false"
    if entry.id.group_kind in _PRECIOUS and not question.is_confirmed:
        return "its kind takes data with it; sync with --prune to confirm"
    return None


def _excess(delete: Sequence[InventoryEntry], question: PruneQuestion) -> str | None:
    budget = max(_BUDGET_OBJECTS, int(len(question.inventory) * _BUDGET_SHARE))
    if question.is_confirmed or len(delete) <= budget:
        return None
    return (
        f"{len(delete)} of {len(question.inventory)} objects would go at once, at most {budget} do; "
        "sync with --prune to confirm"
    )
