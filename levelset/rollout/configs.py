"""Undo and configuration: which copies of ConfigMaps and Secrets a template should name. Pure.

A PodSet's template names copies, made when its revision was. Where such a copy is also what the
present revision reads, undo writes the user's own name back; where it is not, undo writes the name
of the copy, since that is what brings the old configuration back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kube_runtime.resource import Json
from workloads import templates
from workloads.podset.resources import parse_podset
from workloads.rollout.config.record import Record, copies_in, record_of
from workloads.rollout.config.references import Source, rewritten


@dataclass(frozen=True, slots=True)
class Restored:
    """A template to write back, and what it names a copy of."""

    template: Json = field(hash=False)
    pinned: Sequence[Source] = ()


def restored(podset: Json, present: Json | None) -> Restored:
    """Return the template of a revision as undo writes it, seen from the present revision."""
    there = copies_in(_record(podset))
    now = copies_in(_record(present)) if present is not None else {}
    same = {source for source, copy in there.items() if now.get(source, copy) == copy}
    back = {Source(source.kind, there[source]): source.name for source in same}
    template = templates.without_hash(podset["spec"]["template"])
    return Restored(
        rewritten(template, back), tuple(source for source in there if source not in same)
    )


def _record(podset: Json) -> Record:
    return record_of(parse_podset(podset))
