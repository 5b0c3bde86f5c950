"""The PodSets of one Rollout: the new one, whose template is the Rollout's, and the old ones.

Plans are written as steps from one fleet to the next; what differs between the first and the last
is what is written. Which PodSet is the new one is decided by template equality, never by name. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from workloads import names, templates
from workloads.podset.resources import PodSet
from workloads.rollout import maths
from workloads.rollout.resources import Rollout

_MAX_DIGITS: Final = 18  # of an int64; Python refuses to read or write more than 4300
_NOT_CREATED: Final = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fleet:
    """The new PodSet, if there is one, and the old ones, oldest first."""

    new: PodSet | None = None
    old: tuple[PodSet, ...] = ()

    @property
    def all(self) -> tuple[PodSet, ...]:
        """All PodSets, the new one last."""
        return self.old if self.new is None else (*self.old, self.new)

    @property
    def active(self) -> tuple[PodSet, ...]:
        """Those that want pods."""
        return tuple(podset for podset in self.all if podset.replicas > 0)

    @property
    def replicas(self) -> int:
        """How many pods they want together."""
        return sum(podset.replicas for podset in self.all)

    @property
    def available(self) -> int:
        """How many pods of theirs are available; never more than are wanted to stay."""
        return sum(min(podset.status.available_replicas, podset.replicas) for podset in self.all)

    @property
    def running(self) -> int:
        """How many pods they want, or still have: a PodSet that was told to shrink takes a while."""
        return sum(max(podset.replicas, podset.status.replicas) for podset in self.all)

    @property
    def terminating(self) -> int:
        """How many pods are on their way out."""
        return sum(podset.status.terminating_replicas for podset in self.all)

    @property
    def shrinking(self) -> tuple[PodSet, ...]:
        """Those that were told to shrink and have not done so yet, as far as they have told.

        Until they have, nobody knows which of their pods will be left: one that is told to grow
        again meanwhile would count pods as available that are already on their way out.
        """
        return tuple(podset for podset in self.all if podset.status.replicas > podset.replicas)

    def scaled(self, rollout: Rollout, sizes: dict[str, int]) -> "Fleet":
        """Give the named PodSets these sizes, and note on each for which spec that was decided."""
        return self.mapped(
            {
                podset.key.name: _scale(podset, rollout, sizes[podset.key.name])
                for podset in self.all
                if podset.key.name in sizes
            }
        )

    def resized(self, sizes: dict[str, int]) -> "Fleet":
        """Give the named PodSets these sizes, and leave the notes as they are."""
        return self.mapped(
            {
                podset.key.name: replace(podset, replicas=sizes[podset.key.name])
                for podset in self.all
                if podset.key.name in sizes
            }
        )

    def mapped(self, changed: dict[str, PodSet]) -> "Fleet":
        """Put the changed PodSets in the place of those of the same name."""
        return Fleet(
            new=self.new and changed.get(self.new.key.name, self.new),
            old=tuple(changed.get(podset.key.name, podset) for podset in self.old),
        )

    def turned_to(self, name: str) -> "Fleet":
        """Take the PodSet of this name, which must be there, for the new one."""
        new = next(podset for podset in self.all if podset.key.name == name)
        rest = (podset for podset in self.all if podset is not new)
        return Fleet(new, tuple(sorted(rest, key=age_key)))


def sort_fleet(rollout: Rollout, podsets: Iterable[PodSet]) -> Fleet:
    """Find the new PodSet: the oldest with an equal template that is not going away."""
    by_age = sorted(podsets, key=age_key)
    new = next(
        (podset for podset in by_age if not podset.is_deleting and _is_equal(podset, rollout)),
        None,
    )
    return Fleet(new, tuple(podset for podset in by_age if podset is not new))


def recognise(rollout: Rollout, fleet: Fleet) -> Fleet:
    """Find the new PodSet of a template that only looks changed: its CRD got another default.

    The template of a generation that was looked at before cannot have been changed by anybody.
    """
    status = rollout.status
    if fleet.new is not None or status.observed_generation != rollout.generation:
        return fleet
    if status.config != rollout.config_hash:
        return fleet
    name = status.held.podset if status.held is not None else status.updated_podset
    found = next((podset for podset in fleet.old if podset.key.name == name), None)
    if found is None or found.is_deleting:
        return fleet
    if not templates.differ_in_defaults_only(found.template, rollout.template):
        return fleet
    return fleet.turned_to(name)


def _is_equal(podset: PodSet, rollout: Rollout) -> bool:
    """Compare templates; a template that was recognised is noted on the PodSet."""
    if templates.are_equal(podset.template, rollout.template):
        return True
    alias = podset.annotations.get(names.TEMPLATE_ALIAS)
    return alias is not None and alias == templates.hash_of(rollout.template, 0)


def age_key(podset: PodSet) -> tuple[datetime, str]:
    """Sort the oldest first; one that is yet to be created comes last."""
    return (podset.created or _NOT_CREATED, podset.key.name)


def desired_replicas(podset: PodSet) -> int | None:
    """Read for which spec.replicas of the Rollout the PodSet was last sized."""
    return number_in(podset, names.DESIRED_REPLICAS)


def noted_max_replicas(podset: PodSet) -> int | None:
    """Read how many pods the whole Rollout could have when the PodSet was last sized."""
    return number_in(podset, names.MAX_REPLICAS)


def number_in(podset: PodSet, annotation: str) -> int | None:
    """Read a number that anybody could have edited; None where there is none."""
    raw = podset.annotations.get(annotation, "")
    return int(raw) if raw.isdecimal() and len(raw) <= _MAX_DIGITS else None


def size_annotations(rollout: Rollout) -> dict[str, str]:
    """Build the note for which spec a PodSet was sized."""
    return {
        names.DESIRED_REPLICAS: str(rollout.replicas),
        names.MAX_REPLICAS: str(rollout.replicas + maths.max_surge(rollout)),
    }


def _scale(podset: PodSet, rollout: Rollout, replicas: int) -> PodSet:
    annotations = {**podset.annotations, **size_annotations(rollout)}
    return replace(podset, replicas=replicas, annotations=annotations)
