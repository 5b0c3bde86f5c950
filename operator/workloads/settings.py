"""What the process can be told; flags, variables and the file are derived from these fields."""

from dataclasses import dataclass, field
from typing import Final

from exporters.settings import MetricsSettings
from kube_runtime.process_settings import ProcessSettings
from kube_runtime.settings import require_positive
from workloads.names import FIELD_MANAGER

ENV_PREFIX: Final = "LEVELSET_WORKLOADS_"


@dataclass(frozen=True, slots=True)
class WorkloadsSettings:
    """The PodSet and Rollout controllers."""

    process: ProcessSettings = field(default_factory=lambda: ProcessSettings(name=FIELD_MANAGER))
    metrics: MetricsSettings = field(default_factory=MetricsSettings)

    watch_namespace: str | None = None
    """Look after this namespace only; else after all."""
    qps: float = 200.0
    """Requests a second to the API server in the long run; built-in controllers have 20."""
    burst: int = 400
    """Requests at once on top of it."""
    podset_workers: int = 10
    """PodSets worked on at the same time."""
    rollout_workers: int = 5
    """Rollouts worked on at the same time."""
    max_in_flight: int = 250
    """Creations or deletions of one PodSet's pods at the same time, about the largest batch of the
    built-in controller; each takes a connection. Measured, 1000 pods: 7.1 s with 30, 6.3 s with
    100, 5.7 s with 250."""
    resync_seconds: float = 600.0
    """How often everything is looked at whatever the events said."""
    expectation_seconds: float = 300.0
    """How long our own writes to pods may stay unseen before the pods are listed anew; the time
    that the built-in controllers wait before they trust what they see."""
    config_settle_seconds: float = 1.0
    """How long ConfigMaps and Secrets must be at rest before a change of them rolls; so that one
    `kubectl apply` of several of them, and of the Rollout after them, is one new revision."""
    request_timeout_seconds: float = 10.0
    """How long an answer of the API server is waited for."""

    def __post_init__(self) -> None:
        require_positive(self, "podset_workers", "rollout_workers", "max_in_flight")
        require_positive(self, "qps", "burst", "resync_seconds", "expectation_seconds")
        require_positive(self, "config_settle_seconds", "request_timeout_seconds")
