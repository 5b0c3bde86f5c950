"""Undo and configuration: which copies of ConfigMaps and Secrets a template should name. Pure.

A PodSet's template names copies, made when its revision was. Where such a copy is also what there
is now, undo writes the user's own name back; where it is not, undo writes the name of the copy,
since that is what brings the old configuration back. No value is ever looked at: a copy is named
after the version of its source.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kube_runtime.resource import Json, Uid
from workloads import templates
from workloads.podset.resources import parse_podset
from workloads.rollout.config.record import Record, Version, copies_in, copy_name, record_of
from workloads.rollout.config.references import Source, rewritten

Live = Mapping[Source, Version]
"""The versions of sources that are there now."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A template to write back, and what it names a copy of."""

    template: Json = field(hash=False)
    pinned: Sequence[Source] = ()


def unsettled(podset: Json, present: Json | None) -> list[Source]:
    """List the sources of which the present revision does not tell what there is now."""
    now = _copies(present)
    return [source for source in _copies(podset) if source not in now]


def restored(podset: Json, present: Json | None, *, rollout_uid: Uid, live: Live) -> Restored:
    """Return the template of a revision as undo writes it, seen from the present revision."""
    there, now = _copies(podset), _copies(present)
    for source, version in live.items():
        now.setdefault(source, copy_name(rollout_uid, source, version))
    same = {source for source, copy in there.items() if now.get(source) == copy}
    back = {Source(source.kind, there[source]): source.name for source in same}
    template = templates.without_hash(podset["spec"]["template"])
    return Restored(
        rewritten(template, back), tuple(source for source in there if source not in same)
    )


def _copies(podset: Json | None) -> dict[Source, str]:
    record: Record = record_of(parse_podset(podset)) if podset is not None else {}
    return copies_in(record)
