"""What every controller process can be told; each part embeds it in its own settings class.

    @dataclass(frozen=True, slots=True)
    class WorkloadsSettings:
        process: ProcessSettings = field(default_factory=lambda: ProcessSettings(name="…"))

The name is the part's, not the user's: it is the name of the lease and of the log lines.
"""

from dataclasses import dataclass, field

from kube_runtime.lease import times_fit
from kube_runtime.logs import LogFormat, LogLevel
from kube_runtime.settings import FIXED


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """What every controller process can be told."""

    name: str = field(default="levelset", metadata=FIXED)
    kubeconfig: str | None = None
    """The kubeconfig; else $KUBECONFIG, the pod's service account, ~/.kube/config."""
    context: str | None = None
    """The context of the kubeconfig; else its current one."""
    namespace: str = "levelset-system"
    """The namespace of the lease."""
    leader_elect: bool = True
    """Work only while holding the lease; off where only one process can ever run."""
    lease_seconds: int = 15
    """How long the others wait for a leader that has gone silent."""
    renew_seconds: float = 10.0
    """How long a leader writes on without a renewal; less than the lease, or two could write."""
    retry_seconds: float = 2.0
    """How long between two attempts to take or renew the lease."""
    stop_seconds: float = 24.0
    """How long an ordered stop may take in all; less than the 30 s that a pod is given."""
    liveness_endpoint: str | None = None
    """Where Kopf answers probes, as http://0.0.0.0:8080/healthz; off, the metrics server does."""
    log_format: LogFormat = "text"
    """How log lines are written."""
    log_level: LogLevel = "info"
    """Which log lines are written."""
    debug: bool = False
    """Show the whole trace of a failure that ends the process."""

    def __post_init__(self) -> None:
        if not times_fit(self.retry_seconds, self.renew_seconds, self.lease_seconds):
            raise ValueError(
                "--retry-seconds, --renew-seconds, --lease-seconds: expected each to be less than "
                f"the next, found {self.retry_seconds}, {self.renew_seconds}, {self.lease_seconds}; "
                "the first with a fifth on top, since it is jittered"
            )
