"""Whether one of the PodSets already is the Rollout's template with the configuration as it is now.

Identity has two halves: the template, rewritten by the PodSet's own record, equals the PodSet's;
and what the record points to equals what is there. Versions answer the second half without a
read; where they differ the contents are compared, so that a new label or a re-created object with
the same data is no change. What cannot be read counts as unchanged: no pod is replaced for it. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kube_runtime.resource import Json, Uid
from workloads import names, templates
from workloads.podset.resources import PodSet
from workloads.rollout.config.record import (
    ABSENT,
    AS_IS,
    Record,
    Version,
    copies_in,
    copy_name,
    record_of,
)
from workloads.rollout.config.references import Reference, Source, rewritten
from workloads.rollout.fleet import number_in


class Question(NamedTuple):
    """Whether a source still has the data of a copy."""

    source: Source
    copy: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A PodSet whose template is the Rollout's, whatever its configuration."""

    podset: PodSet
    record: Record = field(hash=False)


@dataclass(frozen=True, slots=True)
class Sight:
    """The sources as they are now."""

    rollout_uid: Uid
    versions: Mapping[Source, Version | None]
    """None: there is no such object. Not in it: it cannot be known."""
    as_is: frozenset[Source] = frozenset()
    """Sources that are never copied."""
    equal: frozenset[Question] = frozenset()
    """The questions that were answered with yes."""

    def name_for(self, source: Source) -> str:
        """Tell under which name a revision that is made now reads the source."""
        version = self.versions[source]
        if version is None:
            return ABSENT
        return AS_IS if source in self.as_is else copy_name(self.rollout_uid, source, version)

    def record(self, references: Iterable[Reference]) -> dict[Source, str]:
        """Build the record of a revision that is made now."""
        known = [each.source for each in references if each.source in self.versions]
        return {source: self.name_for(source) for source in known}


@dataclass(frozen=True, slots=True)
class Match:
    """The PodSet to go on with, and what its record lacks."""

    candidate: Candidate
    take: Record = field(default_factory=dict, hash=False)

    @property
    def record(self) -> Record:
        """The record once it is complete."""
        return {**self.candidate.record, **self.take}


def find_candidates(template: Json, podsets: Iterable[PodSet]) -> tuple[Candidate, ...]:
    """Choose the PodSets with this template, the newest revision first."""
    found = [
        Candidate(podset, record)
        for podset in podsets
        if not podset.is_deleting
        and _is_template_of(rewritten(template, copies_in(record := record_of(podset))), podset)
    ]
    return tuple(sorted(found, key=_revision, reverse=True))


def find_match(
    references: Iterable[Reference], candidates: Iterable[Candidate], sight: Sight
) -> Match | None:
    """Find the one whose configuration is what is there now.

    Only the newest may take up what its record lacks: its pods run with what is there already.
    """
    references = tuple(references)
    for position, candidate in enumerate(candidates):
        take = _to_take(references, candidate, sight)
        if take is not None and (position == 0 or not take):
            return Match(candidate, take)
    return None


def questions(
    references: Iterable[Reference], candidates: Iterable[Candidate], sight: Sight
) -> frozenset[Question]:
    """Ask what versions alone cannot tell."""
    sources = [each.source for each in references if sight.versions.get(each.source) is not None]
    return frozenset(
        Question(source, known)
        for candidate in candidates
        for source in sources
        if (known := candidate.record.get(source, ABSENT)) not in {ABSENT, AS_IS}
        and known != sight.name_for(source)
    )


def missing(references: Iterable[Reference], record: Record, sight: Sight) -> tuple[Source, ...]:
    """Tell which sources pods cannot start without, and that are not there."""
    return tuple(
        each.source
        for each in references
        if not each.is_optional
        and each.source in sight.versions
        and sight.versions[each.source] is None
        and record.get(each.source, ABSENT) in {ABSENT, AS_IS}
    )


def _is_template_of(template: Json, podset: PodSet) -> bool:
    """Compare; a template that only looks changed, since its CRD has, is noted on the PodSet."""
    if templates.are_equal(template, podset.template):
        return True
    alias = podset.annotations.get(names.TEMPLATE_ALIAS)
    return alias is not None and alias == templates.hash_of(template, 0)


def _to_take(
    references: tuple[Reference, ...], candidate: Candidate, sight: Sight
) -> dict[Source, str] | None:
    """Tell what is to be recorded; None when the configuration is another one."""
    taken = {}
    for reference in references:
        if reference.source not in sight.versions:
            continue
        known = candidate.record.get(reference.source)
        if known is None or _has_come(reference, known, sight):
            taken[reference.source] = sight.name_for(reference.source)
        elif not _is_same(reference, known, sight):
            return None
    return taken


def _has_come(reference: Reference, known: str, sight: Sight) -> bool:
    """Tell whether pods that waited for the source can start now; those with it optional run."""
    is_there = sight.versions[reference.source] is not None
    return known == ABSENT and is_there and not reference.is_optional


def _is_same(reference: Reference, known: str, sight: Sight) -> bool:
    source = reference.source
    if known == AS_IS:
        return True
    is_there = sight.versions[source] is not None
    if known == ABSENT:
        return not is_there
    if not is_there:
        # Whoever deleted it has a copy running. To roll now would be to roll into nothing.
        return not reference.is_optional
    return known == sight.name_for(source) or Question(source, known) in sight.equal


def _revision(candidate: Candidate) -> tuple[int, str]:
    number = number_in(candidate.podset, names.REVISION) or 0
    return number, candidate.podset.key.name
