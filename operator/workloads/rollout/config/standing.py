"""What a Rollout says of its configuration: the condition ConfigSnapshotted. Names only, no values.

Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, Self

from kube_runtime.conditions import Condition, remove_condition, set_condition
from workloads.rollout.config.record import Record, copies_in
from workloads.rollout.config.references import Source, SourceKind

CONFIG_SNAPSHOTTED: Final = "ConfigSnapshotted"
_MOST_NAMES: Final = 10


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether the revision has its own configuration, and if not, why."""

    status: Literal["True", "False"]
    reason: str
    message: str
    missing: tuple[Source, ...] = ()

    @classmethod
    def too_many(cls, count: int, most: int) -> Self:
        """Say that so many references are not followed."""
        return cls(
            "False",
            "TooManyReferences",
            f"the template refers to {count} ConfigMaps and Secrets, at most {most} are kept with "
            "a revision; they are read as they are, and a change of them does not roll",
        )

    @classmethod
    def refused(cls, message: str) -> Self:
        """Say that a copy could not be made."""
        return cls(
            "False",
            "Refused",
            f"{message}; until that is put right ConfigMaps and Secrets are read as they are, and "
            "a change of them does not roll",
        )

    @classmethod
    def unreadable(cls, kind: SourceKind, problem: str) -> Self:
        """Say that the controller does not see this kind."""
        return cls(
            "False",
            "Unreadable",
            f"cannot list {kind}s ({problem or 'no answer yet'}); they are read as they are, and "
            "a change of them does not roll. Grant the ClusterRole levelset-workloads-config, or "
            "set spec.config.mode to Ignore",
        )


def standing_of(record: Record, missing: Sequence[Source]) -> Standing:
    """Describe a revision whose configuration is known."""
    if missing:
        return Standing(
            "False",
            "Missing",
            f"{_listed(missing)} not found; pods that need it wait until it is there",
            tuple(missing),
        )
    copies = list(copies_in(record))
    text = f"copies of {_listed(copies)}" if copies else "nothing to copy"
    return Standing("True", "Snapshotted", text)


def with_standing(
    conditions: Iterable[Condition], standing: Standing | None, *, generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Put the condition in its place, or take it away."""
    entries = list(conditions)
    if standing is None:
        return tuple(remove_condition(entries, CONFIG_SNAPSHOTTED))
    entry = Condition(
        CONFIG_SNAPSHOTTED, standing.status, standing.reason, standing.message, generation
    )
    return tuple(set_condition(entries, entry, now))


def _listed(sources: Sequence[Source]) -> str:
    shown = ", ".join(map(str, sorted(sources)[:_MOST_NAMES]))
    more = len(sources) - _MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
