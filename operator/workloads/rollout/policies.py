"""How a Rollout is to behave when something goes wrong, changes or has to move: its policies.

Parsed from spec.rollback, spec.config and spec.disruption. Pure.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kube_runtime.resource import Json

_DEFAULT_CRASH_LOOP_SECONDS: Final = 60


class RollbackMode(Enum):
    """What to do about a revision that fails."""

    AUTOMATIC = "Automatic"
    MANUAL = "Manual"


class ConfigMode(Enum):
    """Whether ConfigMaps and Secrets are a part of the revision."""

    SNAPSHOT = "Snapshot"
    IGNORE = "Ignore"


class DisruptionMode(Enum):
    """Whether a pod that has to leave its node gets its successor first."""

    SURGE = "Surge"
    NONE = "None"


class BudgetMode(Enum):
    """Whether a PodDisruptionBudget is kept for the Rollout."""

    MANAGED = "Managed"
    NONE = "None"


@dataclass(frozen=True, slots=True)
class RollbackPolicy:
    """When a revision counts as failed before its deadline, and whether to go back by ourselves."""

    mode: RollbackMode = RollbackMode.AUTOMATIC
    max_restarts: int | None = None
    max_failed_pods: int | None = None
    crash_loop_seconds: int = _DEFAULT_CRASH_LOOP_SECONDS


@dataclass(frozen=True, slots=True)
class DisruptionPolicy:
    """What a drain does to the pods."""

    mode: DisruptionMode = DisruptionMode.SURGE
    budget: BudgetMode = BudgetMode.MANAGED


def parse_rollback(raw: Json | None) -> RollbackPolicy:
    """Read spec.rollback."""
    present = raw or {}
    return RollbackPolicy(
        mode=RollbackMode(present.get("mode", "Automatic")),
        max_restarts=present.get("maxRestarts"),
        max_failed_pods=present.get("maxFailedPods"),
        crash_loop_seconds=present.get("crashLoopSeconds", _DEFAULT_CRASH_LOOP_SECONDS),
    )


def parse_config(raw: Json | None) -> ConfigMode:
    """Read spec.config."""
    return ConfigMode((raw or {}).get("mode", "Snapshot"))


def parse_disruption(raw: Json | None) -> DisruptionPolicy:
    """Read spec.disruption."""
    present = raw or {}
    return DisruptionPolicy(
        mode=DisruptionMode(present.get("mode", "Surge")),
        budget=BudgetMode(present.get("budget", "Managed")),
    )
