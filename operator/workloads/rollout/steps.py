"""The steps of a rollout as they are written in spec.steps.

Each is of exactly one kind, which the CRD enforces; an entry of a kind that is unknown here is
left out by nobody: it raises, since a gate that is skipped in silence is worse than a stop. Pure.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Final

from kube_runtime.resource import Json

_DEFAULT_JOB_TIMEOUT_SECONDS: Final = 3600
_DEFAULT_INTERVAL_SECONDS: Final = 30
_DEFAULT_FAILURE_LIMIT: Final = 2


class StepType(Enum):
    """The kinds of steps, as status.step names them."""

    REPLICAS = "Replicas"
    PAUSE = "Pause"
    GATE = "Gate"
    JOB = "Job"


class Operator(Enum):
    """How a gate compares what it measures with its threshold."""

    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    EQUAL = "=="
    NOT_EQUAL = "!="


@dataclass(frozen=True, slots=True)
class ReplicasStep:
    """Go on until so many pods, or so many percent of spec.replicas, are of the new revision."""

    replicas: int | str


@dataclass(frozen=True, slots=True)
class PauseStep:
    """Wait for a time, or until somebody resumes."""

    seconds: int | None = None


@dataclass(frozen=True, slots=True)
class GateStep:
    """Ask Prometheus until its answer has met the threshold for long enough, or has missed it."""

    prometheus: str
    query: str
    operator: Operator
    threshold: float
    for_seconds: int = 0
    interval_seconds: int = _DEFAULT_INTERVAL_SECONDS
    failure_limit: int = _DEFAULT_FAILURE_LIMIT
    """How many measurements may miss; one more fails the gate."""

    @property
    def interval(self) -> timedelta:
        """The time from one measurement to the next."""
        return timedelta(seconds=self.interval_seconds)


@dataclass(frozen=True, slots=True)
class JobStep:
    """Run a Job and go on when it has succeeded."""

    template: Json = field(hash=False)
    timeout_seconds: int = _DEFAULT_JOB_TIMEOUT_SECONDS


Step = ReplicasStep | PauseStep | GateStep | JobStep


def parse_steps(raw: list[Json] | None) -> tuple[Step, ...]:
    """Read spec.steps."""
    return tuple(map(_parse_step, raw or ()))


def type_of(step: Step) -> StepType:
    """Name the kind of a step."""
    match step:
        case ReplicasStep():
            return StepType.REPLICAS
        case PauseStep():
            return StepType.PAUSE
        case GateStep():
            return StepType.GATE
        case JobStep():
            return StepType.JOB


def _parse_step(raw: Json) -> Step:
    if "replicas" in raw:
        return ReplicasStep(raw["replicas"])
    if "pause" in raw:
        return PauseStep((raw["pause"] or {}).get("seconds"))
    if "gate" in raw:
        return _parse_gate(raw["gate"])
    job: Json = raw["job"]
    return JobStep(job["template"], job.get("timeoutSeconds", _DEFAULT_JOB_TIMEOUT_SECONDS))


def _parse_gate(raw: Json) -> GateStep:
    return GateStep(
        prometheus=raw["prometheus"],
        query=raw["query"],
        operator=Operator(raw["threshold"]["operator"]),
        threshold=float(raw["threshold"]["value"]),
        for_seconds=raw.get("forSeconds", 0),
        interval_seconds=raw.get("intervalSeconds", _DEFAULT_INTERVAL_SECONDS),
        failure_limit=raw.get("failureLimit", _DEFAULT_FAILURE_LIMIT),
    )
