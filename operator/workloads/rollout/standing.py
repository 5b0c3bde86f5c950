"""What a Rollout remembers from one look to the next: the good revision, the bad one, the step.

Kept in its status and nowhere else, so that a controller that was killed goes on where it was. Pure.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from kube_runtime.conditions import MAX_MESSAGE_CHARS, format_time, parse_time
from kube_runtime.resource import Json


class StepState(Enum):
    """How a step stands."""

    PROGRESSING = "Progressing"
    """Pods of the new revision are on their way."""
    PAUSED = "Paused"
    MEASURING = "Measuring"
    RUNNING = "Running"
    """The Job runs."""
    FAILED = "Failed"
    DONE = "Done"
    """All steps are done; the rest of the pods follows."""


@dataclass(frozen=True, slots=True)
class KnownGood:
    """The last revision that was complete and healthy."""

    podset: str
    revision: int

    @classmethod
    def from_json(cls, raw: Json | None) -> "KnownGood | None":
        """Read status.knownGood."""
        return cls(raw.get("podSet", ""), raw.get("revision", 0)) if raw else None

    def to_json(self) -> Json:
        """Write status.knownGood."""
        return {"podSet": self.podset, "revision": self.revision}


@dataclass(frozen=True, slots=True)
class Held:
    """The revision that the spec asks for and that has failed."""

    podset: str
    revision: int
    template_hash: str
    reason: str
    message: str
    since: datetime | None = None
    retry: str = ""
    """What the retry annotation said then; another value releases the revision."""

    @classmethod
    def from_json(cls, raw: Json | None) -> "Held | None":
        """Read status.held."""
        if not raw:
            return None
        return cls(
            podset=raw.get("podSet", ""),
            revision=raw.get("revision", 0),
            template_hash=raw.get("templateHash", ""),
            reason=raw.get("reason", ""),
            message=raw.get("message", ""),
            since=parse_time(raw.get("since")),
            retry=raw.get("retry", ""),
        )

    def to_json(self) -> Json:
        """Write status.held."""
        raw: Json = {
            "podSet": self.podset,
            "revision": self.revision,
            "templateHash": self.template_hash,
            "reason": self.reason,
            "message": self.message[:MAX_MESSAGE_CHARS],
        }
        if self.since is not None:
            raw["since"] = format_time(self.since)
        if self.retry:
            raw["retry"] = self.retry
        return raw


@dataclass(frozen=True, slots=True)
class StepStatus:
    """Where in spec.steps a revision is, and what it waits for."""

    podset: str
    """The revision; another one begins at the first step."""
    index: int = 0
    """Counted from 0; as many as there are steps once all are done."""
    type: str = ""
    state: StepState = StepState.PROGRESSING
    message: str = ""
    since: datetime | None = None
    failures: int = 0
    passing_since: datetime | None = None
    measured_at: datetime | None = None
    job: str = ""
    resume: str = ""
    """What the resume annotation said when the step began: that does not count."""

    @classmethod
    def from_json(cls, raw: Json | None) -> "StepStatus | None":
        """Read status.step; a state that is unknown here reads as the beginning of the step."""
        if not raw:
            return None
        state = raw.get("state")
        return cls(
            podset=raw.get("podSet", ""),
            index=raw.get("index", 0),
            type=raw.get("type", ""),
            state=StepState(state) if state in _STATES else StepState.PROGRESSING,
            message=raw.get("message", ""),
            since=parse_time(raw.get("since")),
            failures=raw.get("failures", 0),
            passing_since=parse_time(raw.get("passingSince")),
            measured_at=parse_time(raw.get("measuredAt")),
            job=raw.get("job", ""),
            resume=raw.get("resume", ""),
        )

    def to_json(self) -> Json:
        """Write status.step; what does not apply is left out."""
        raw: Json = {
            "podSet": self.podset,
            "index": self.index,
            "type": self.type,
            "state": self.state.value,
            "message": self.message[:MAX_MESSAGE_CHARS],
            "failures": self.failures,
            "job": self.job,
            "resume": self.resume,
            "since": self.since and format_time(self.since),
            "passingSince": self.passing_since and format_time(self.passing_since),
            "measuredAt": self.measured_at and format_time(self.measured_at),
        }
        return {key: value for key, value in raw.items() if value or key == "index"}


_STATES: Final = frozenset(state.value for state in StepState)
_RESTING: Final = frozenset({StepState.PAUSED, StepState.MEASURING, StepState.RUNNING})


def is_resting(step: StepStatus) -> bool:
    """Tell whether the rollout rests at a step, so that no progress can be asked of it."""
    return step.state in _RESTING
