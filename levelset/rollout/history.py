"""The revisions of a Rollout, as `kubectl rollout history` shows them. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import yaml

from kube_runtime.resource import Json, annotations_of
from levelset.rollout.errors import NoSuchRevision
from levelset.rollout.snapshot import Snapshot
from levelset.rollout.targets import SHOWN
from levelset.rollout.verdict import held_text
from workloads import names, templates

CHANGE_CAUSE: Final = "kubernetes.io/change-cause"
_HEAD: Final = ("REVISION", "CHANGE-CAUSE")
_MAX_DIGITS: Final = 18


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision: its number and its PodSet."""

    number: int
    podset: Json

    @property
    def change_cause(self) -> str:
        """Why it was made, if anybody said so."""
        return annotations_of(self.podset).get(CHANGE_CAUSE, "")

    @property
    def template(self) -> Json:
        """The template as the user wrote it: without our hash label."""
        template: Json = self.podset["spec"]["template"]
        return templates.without_hash(template)


def revisions(podsets: Iterable[Json]) -> list[Revision]:
    """Return the revisions in order; a PodSet without a number is none."""
    numbered = (Revision(_number(podset), podset) for podset in podsets)
    return sorted((each for each in numbered if each.number), key=lambda each: each.number)


def find(history: Sequence[Revision], number: int) -> Revision:
    """Return the revision of this number; raises NoSuchRevision with those that there are."""
    for each in history:
        if each.number == number:
            return each
    there = ", ".join(str(each.number) for each in history) or "none"
    raise NoSuchRevision(f"unable to find the specified revision {number}; there are: {there}")


def table(seen: Snapshot, history: Sequence[Revision]) -> str:
    """Show all revisions, and which of them is known good or held."""
    if not history:
        return f"{SHOWN}/{seen.name} No rollout history found."
    rows = [_HEAD, *((str(each.number), each.change_cause or "<none>") for each in history)]
    width = max(len(number) for number, _ in rows)
    lines = [f"{number:<{width}}  {cause}" for number, cause in rows]
    notes = list(_notes(seen))
    return "\n".join([f"{SHOWN}/{seen.name}", *lines, *([""] if notes else []), *notes, ""])


def detail(seen: Snapshot, revision: Revision) -> str:
    """Show the pod template of one revision, whole, as `undo` would write it back."""
    return (
        f"{SHOWN}/{seen.name} with revision #{revision.number}\n"
        f"{template_text(revision.template, change_cause=revision.change_cause)}"
    )


def template_text(template: Json, *, change_cause: str = "") -> str:
    """Show a pod template: its fields as YAML, since a summary would leave some out."""
    cause = f"  {CHANGE_CAUSE}: {change_cause}\n" if change_cause else ""
    body = yaml.safe_dump(template, sort_keys=False, allow_unicode=True)
    return f"Pod Template:\n{cause}" + "".join(f"  {line}\n" for line in body.splitlines())


def _notes(seen: Snapshot) -> Iterator[str]:
    if seen.known_good:
        yield f"known good: revision {seen.known_good}"
    if seen.held is not None:
        yield f"held: revision {seen.held.revision} ({held_text(seen.held)})"


def _number(podset: Json) -> int:
    raw = annotations_of(podset).get(names.REVISION, "")
    return int(raw) if raw.isdecimal() and len(raw) <= _MAX_DIGITS else 0
