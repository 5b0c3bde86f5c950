"""PodSets parsed: from raw JSON to frozen dataclasses, and the status back to JSON.

The reconcilers of both kinds read PodSets through this module only. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kube_runtime.conditions import Condition, format_time, parse_conditions, parse_time
from kube_runtime.resource import (
    Json,
    Key,
    OwnerReference,
    Uid,
    annotations_of,
    controller_of,
    generation_of,
    is_deleting,
    labels_of,
    resource_version_of,
    uid_of,
)
from kube_runtime.selectors import LabelSelector
from workloads.blocked_by import BlockedBy
from workloads.pod_defaults import ALL_ON, PodDefaults

NEVER_OBSERVED: Final = -1


@dataclass(frozen=True, slots=True)
class PodSetStatus:
    """What the controller last saw of a PodSet's pods."""

    replicas: int = 0
    fully_labeled_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    terminating_replicas: int = 0
    disrupted_replicas: int = 0
    failed_replicas: int = 0
    restarts: int = 0
    backoff_until: datetime | None = None
    blocked_by: BlockedBy | None = None
    observed_generation: int = NEVER_OBSERVED
    selector: str = ""
    conditions: tuple[Condition, ...] = ()

    @classmethod
    def from_json(cls, raw: Json) -> "PodSetStatus":
        """Read a status; what is missing reads as never observed."""
        return cls(
            replicas=raw.get("replicas", 0),
            fully_labeled_replicas=raw.get("fullyLabeledReplicas", 0),
            ready_replicas=raw.get("readyReplicas", 0),
            available_replicas=raw.get("availableReplicas", 0),
            terminating_replicas=raw.get("terminatingReplicas", 0),
            disrupted_replicas=raw.get("disruptedReplicas", 0),
            failed_replicas=raw.get("failedReplicas", 0),
            restarts=raw.get("restarts", 0),
            backoff_until=parse_time(raw.get("backoffUntil")),
            blocked_by=BlockedBy.from_json(raw.get("blockedBy")),
            observed_generation=raw.get("observedGeneration", NEVER_OBSERVED),
            selector=raw.get("selector", ""),
            conditions=tuple(parse_conditions(raw.get("conditions"))),
        )

    def to_json(self) -> Json:
        """Write the status as the CRD declares it."""
        raw: Json = {
            "replicas": self.replicas,
            "fullyLabeledReplicas": self.fully_labeled_replicas,
            "readyReplicas": self.ready_replicas,
            "availableReplicas": self.available_replicas,
            "terminatingReplicas": self.terminating_replicas,
            "disruptedReplicas": self.disrupted_replicas,
            "failedReplicas": self.failed_replicas,
            "restarts": self.restarts,
            "observedGeneration": self.observed_generation,
            "selector": self.selector,
            "conditions": [condition.to_json() for condition in self.conditions],
        }
        if self.backoff_until is not None:
            raw["backoffUntil"] = format_time(self.backoff_until)
        if self.blocked_by is not None:
            raw["blockedBy"] = self.blocked_by.to_json()
        return raw


@dataclass(frozen=True, slots=True)
class PodSet:
    """One PodSet, parsed; the template stays raw, since nobody decides on its insides."""

    key: Key
    uid: Uid
    replicas: int
    selector: LabelSelector
    raw_selector: Json = field(hash=False)
    template: Json = field(hash=False)
    min_ready_seconds: int = 0
    drain_seconds: int = 0
    defaults: PodDefaults = ALL_ON
    generation: int = 1
    resource_version: str = ""
    created: datetime | None = None
    is_deleting: bool = False
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    controller: OwnerReference | None = None
    status: PodSetStatus = PodSetStatus()

    @property
    def template_labels(self) -> Mapping[str, str]:
        """The labels that its pods get."""
        labels: Mapping[str, str] | None = (self.template.get("metadata") or {}).get("labels")
        return labels or {}

    @property
    def is_observed(self) -> bool:
        """Tell whether the status speaks of the spec as it is now."""
        return self.status.observed_generation >= self.generation


def parse_podset(raw: Json) -> PodSet:
    """Read a PodSet; raises InvalidSelector when its selector cannot be used."""
    spec: Json = raw["spec"]
    return PodSet(
        key=Key.of(raw),
        uid=uid_of(raw),
        replicas=spec.get("replicas", 1),
        selector=LabelSelector.parse(spec.get("selector")),
        raw_selector=spec.get("selector") or {},
        template=spec.get("template") or {},
        min_ready_seconds=spec.get("minReadySeconds", 0),
        drain_seconds=spec.get("drainSeconds", 0),
        defaults=PodDefaults.from_json(spec.get("defaults")),
        generation=generation_of(raw),
        resource_version=resource_version_of(raw),
        created=parse_time(raw["metadata"].get("creationTimestamp")),
        is_deleting=is_deleting(raw),
        labels=labels_of(raw),
        annotations=annotations_of(raw),
        controller=controller_of(raw),
        status=PodSetStatus.from_json(raw.get("status") or {}),
    )
