"""Rollouts parsed: from raw JSON to frozen dataclasses, and the status back to JSON.

Where the CRD leaves a field without a default (maxSurge, maxUnavailable), it gets it here, so that
a default never shows up in what the user wrote. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Final

from kube_runtime.conditions import Condition, format_time, parse_conditions, parse_time
from kube_runtime.resource import Json, Key, Uid, annotations_of, generation_of, is_deleting, uid_of
from kube_runtime.selectors import LabelSelector
from workloads.blocked_by import BlockedBy
from workloads.pod_defaults import PodDefaults
from workloads.podset.resources import NEVER_OBSERVED
from workloads.rollout.policies import (
    ConfigMode,
    DisruptionPolicy,
    RollbackPolicy,
    parse_config,
    parse_disruption,
    parse_rollback,
)
from workloads.rollout.standing import Held, KnownGood, StepStatus
from workloads.rollout.steps import Step, parse_steps

NO_DEADLINE: Final = 2**31 - 1
_DEFAULT_PERCENTAGE: Final = "25%"


class StrategyType(Enum):
    """How old pods make way for new ones."""

    ROLLING_UPDATE = "RollingUpdate"
    RECREATE = "Recreate"


class PodReplacementPolicy(Enum):
    """When an old pod's successor may start."""

    TERMINATION_STARTED = "TerminationStarted"
    TERMINATION_COMPLETE = "TerminationComplete"


@dataclass(frozen=True, slots=True)
class RolloutStatus:
    """What the controller last saw of a Rollout."""

    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int = 0
    collision_count: int = 0
    revision: int = 0
    updated_podset: str = ""
    last_progress: datetime | None = None
    observed_generation: int = NEVER_OBSERVED
    selector: str = ""
    config: str = ""
    """The hash of the ConfigMaps and Secrets that the template refers to; never a value of them."""
    known_good: KnownGood | None = None
    held: Held | None = None
    step: StepStatus | None = None
    blocked_by: BlockedBy | None = None
    conditions: tuple[Condition, ...] = ()

    @classmethod
    def from_json(cls, raw: Json) -> "RolloutStatus":
        """Read a status; what is missing reads as never observed."""
        return cls(
            replicas=raw.get("replicas", 0),
            updated_replicas=raw.get("updatedReplicas", 0),
            ready_replicas=raw.get("readyReplicas", 0),
            available_replicas=raw.get("availableReplicas", 0),
            unavailable_replicas=raw.get("unavailableReplicas", 0),
            terminating_replicas=raw.get("terminatingReplicas", 0),
            collision_count=raw.get("collisionCount", 0),
            revision=raw.get("revision", 0),
            updated_podset=raw.get("updatedPodSet", ""),
            last_progress=parse_time(raw.get("lastProgressTime")),
            observed_generation=raw.get("observedGeneration", NEVER_OBSERVED),
            selector=raw.get("selector", ""),
            config=raw.get("config", ""),
            known_good=KnownGood.from_json(raw.get("knownGood")),
            held=Held.from_json(raw.get("held")),
            step=StepStatus.from_json(raw.get("step")),
            blocked_by=BlockedBy.from_json(raw.get("blockedBy")),
            conditions=tuple(parse_conditions(raw.get("conditions"))),
        )

    def to_json(self) -> Json:
        """Write the status as the CRD declares it."""
        raw: Json = {
            "replicas": self.replicas,
            "updatedReplicas": self.updated_replicas,
            "readyReplicas": self.ready_replicas,
            "availableReplicas": self.available_replicas,
            "unavailableReplicas": self.unavailable_replicas,
            "terminatingReplicas": self.terminating_replicas,
            "collisionCount": self.collision_count,
            "revision": self.revision,
            "updatedPodSet": self.updated_podset,
            "observedGeneration": self.observed_generation,
            "selector": self.selector,
            "conditions": [condition.to_json() for condition in self.conditions],
        }
        if self.last_progress is not None:
            raw["lastProgressTime"] = format_time(self.last_progress)
        if self.config:
            raw["config"] = self.config
        parts = {
            "knownGood": self.known_good,
            "held": self.held,
            "step": self.step,
            "blockedBy": self.blocked_by,
        }
        return raw | {name: part.to_json() for name, part in parts.items() if part is not None}


@dataclass(frozen=True, slots=True)
class Rollout:
    """One Rollout, parsed; the template stays raw, since nobody decides on its insides."""

    key: Key
    uid: Uid
    replicas: int
    selector: LabelSelector
    raw_selector: Json = field(hash=False)
    template: Json = field(hash=False)
    strategy: StrategyType = StrategyType.ROLLING_UPDATE
    max_surge: int | str = _DEFAULT_PERCENTAGE
    max_unavailable: int | str = _DEFAULT_PERCENTAGE
    pod_replacement_policy: PodReplacementPolicy = PodReplacementPolicy.TERMINATION_STARTED
    min_ready_seconds: int = 0
    drain_seconds: int = 0
    defaults: PodDefaults = field(default_factory=PodDefaults)
    progress_deadline_seconds: int = 600
    revision_history_limit: int = 10
    is_paused: bool = False
    rollback: RollbackPolicy = field(default_factory=RollbackPolicy)
    steps: tuple[Step, ...] = ()
    config_mode: ConfigMode = ConfigMode.SNAPSHOT
    disruption: DisruptionPolicy = field(default_factory=DisruptionPolicy)
    config_hash: str = ""
    """Of what the template refers to; whoever rewrites the template's references fills it in."""
    config_record: str = ""
    """What a PodSet of this template is told of its configuration; filled in with it."""
    generation: int = 1
    is_deleting: bool = False
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    status: RolloutStatus = RolloutStatus()

    @property
    def has_deadline(self) -> bool:
        """Tell whether a rollout without progress is ever reported."""
        return self.progress_deadline_seconds != NO_DEADLINE


def parse_rollout(raw: Json) -> Rollout:
    """Read a Rollout; raises InvalidSelector when its selector cannot be used."""
    spec: Json = raw["spec"]
    strategy: Json = spec.get("strategy") or {}
    rolling: Json = strategy.get("rollingUpdate") or {}
    return Rollout(
        key=Key.of(raw),
        uid=uid_of(raw),
        replicas=spec.get("replicas", 1),
        selector=LabelSelector.parse(spec.get("selector")),
        raw_selector=spec.get("selector") or {},
        template=spec.get("template") or {},
        strategy=StrategyType(strategy.get("type", "RollingUpdate")),
        max_surge=rolling.get("maxSurge", _DEFAULT_PERCENTAGE),
        max_unavailable=rolling.get("maxUnavailable", _DEFAULT_PERCENTAGE),
        pod_replacement_policy=PodReplacementPolicy(
            spec.get("podReplacementPolicy", "TerminationStarted")
        ),
        min_ready_seconds=spec.get("minReadySeconds", 0),
        drain_seconds=spec.get("drainSeconds", 0),
        defaults=PodDefaults.from_json(spec.get("defaults")),
        progress_deadline_seconds=spec.get("progressDeadlineSeconds", 600),
        revision_history_limit=spec.get("revisionHistoryLimit", 10),
        is_paused=spec.get("paused", False),
        rollback=parse_rollback(spec.get("rollback")),
        steps=parse_steps(spec.get("steps")),
        config_mode=parse_config(spec.get("config")),
        disruption=parse_disruption(spec.get("disruption")),
        generation=generation_of(raw),
        is_deleting=is_deleting(raw),
        annotations=annotations_of(raw),
        status=RolloutStatus.from_json(raw.get("status") or {}),
    )
