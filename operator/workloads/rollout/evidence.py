"""What only the world can tell about a step: what Prometheus answered, how a Job stands.

Gathered at the edge (prometheus.py, hook_jobs.py), judged in plan/steps.py. Data only.
"""

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class Measurement:
    """One answer of Prometheus."""

    values: tuple[float, ...] = ()
    problem: str = ""
    """Why there are no values; never a part of what the server said."""


class JobState(Enum):
    """How a Job stands."""

    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The Job of a step as it was found."""

    state: JobState
    message: str = ""


Evidence = Measurement | JobOutcome
