"""The journey of a change: milestones, when each was reached, how long it took, why. Pure data.

Times in a cluster are whole seconds, but for what an event says it took; durations are no better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from kube_runtime.resource import Key


class Milestone(Enum):
    """What a change reaches on its way, in this order; the value is what people read."""

    TEMPLATE_CHANGED = "template changed"
    PODSET_CREATED = "PodSet created"
    POD_CREATED = "pod created"
    SCHEDULED = "scheduled"
    SANDBOX_READY = "sandbox ready"
    INITIALIZED = "init containers done"
    IMAGE_PULLED = "image pulled"
    STARTED = "containers started"
    READY = "ready"
    IN_ENDPOINT_SLICE = "in the EndpointSlice"


class Progress(Enum):
    """Whether a milestone was reached."""

    REACHED = "reached"
    WAITED_FOR = "waited for"
    AHEAD = "ahead"


@dataclass(frozen=True, slots=True)
class Mark:
    """What the cluster tells of one milestone."""

    milestone: Milestone
    is_reached: bool
    at: datetime | None = None
    """Absent also when it was reached, but nobody wrote down when."""
    seconds: float | None = None
    """How long it took, where that is told more exactly than by the times."""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Stage:
    """The way to one milestone."""

    milestone: Milestone
    progress: Progress
    at: datetime | None = None
    seconds: float | None = None
    """How long it took, or has taken so far."""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class PodJourney:
    """The way of one pod, from the change to traffic."""

    pod: str
    node: str
    stages: tuple[Stage, ...]
    seconds: float
    """From the change to the last milestone, or until now."""
    is_of_change: bool = True
    """False for a pod that was there before, or came later by scaling or as a replacement."""

    @property
    def waits(self) -> Stage | None:
        """The stage that it is in; None when it has arrived."""
        return next((each for each in self.stages if each.progress is Progress.WAITED_FOR), None)

    @property
    def slowest(self) -> Stage | None:
        """The stage that it waits in, else the one that took longest."""
        timed = [each for each in self.stages if each.seconds]
        return self.waits or max(timed, key=lambda each: each.seconds or 0, default=None)


@dataclass(frozen=True, slots=True)
class Journey:
    """The way of one change through all of its pods."""

    key: Key
    revision: int
    podset: str
    changed_at: datetime | None
    changed_by: str
    now: datetime
    wanted: int
    """How many pods of the new template there shall be in the end."""
    is_complete: bool
    pods: tuple[PodJourney, ...] = ()
    before: tuple[Stage, ...] = ()
    """The way to the first pod, for as long as there is none."""
    hold: str = ""
    """Why there are not more pods yet."""
    notes: tuple[str, ...] = ()

    @property
    def slowest(self) -> PodJourney | None:
        """The pod that is stuck for longest, else the one that took longest."""
        return max(self._ranked, key=_rank, default=None)

    @property
    def median(self) -> PodJourney | None:
        """The pod in the middle."""
        ranked = sorted(self._ranked, key=_rank)
        return ranked[(len(ranked) - 1) // 2] if ranked else None

    @property
    def seconds(self) -> float:
        """How long the change has taken as a whole, or has until now."""
        if self.changed_at is None:
            return 0.0
        if not self.is_complete or not self._ranked:
            return max(0.0, (self.now - self.changed_at).total_seconds())
        return max(each.seconds for each in self._ranked)

    @property
    def _ranked(self) -> Sequence[PodJourney]:
        return [each for each in self.pods if each.is_of_change] or self.pods


def _rank(journey: PodJourney) -> tuple[bool, float]:
    return journey.waits is not None, journey.seconds


def stages_of(marks: Sequence[Mark], *, now: datetime) -> tuple[Stage, ...]:
    """Turn marks into stages: each lasts from the milestone before it that has a time."""
    stages: list[Stage] = []
    before: datetime | None = None
    is_waiting = False
    for mark in marks:
        if mark.is_reached:
            seconds = _between(before, mark.at) if mark.seconds is None else mark.seconds
            progress = Progress.REACHED
            before = mark.at if before is None else max(before, mark.at or before)
        else:
            seconds = None if is_waiting else _between(before, now)
            progress = Progress.AHEAD if is_waiting else Progress.WAITED_FOR
            is_waiting = True
        stages.append(Stage(mark.milestone, progress, mark.at, seconds, mark.evidence))
    return tuple(stages)


def _between(before: datetime | None, after: datetime | None) -> float | None:
    if before is None or after is None:
        return None
    return max(0.0, (after - before).total_seconds())
