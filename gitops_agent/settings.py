"""The settings of the agent's process; every field is a flag, a variable and a key of the file."""

from dataclasses import dataclass, field
from pathlib import Path

from exporters.settings import MetricsSettings
from kube_runtime.process_settings import ProcessSettings
from kube_runtime.settings import require_positive


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """What the GitOps agent can be told."""

    process: ProcessSettings = field(
        default_factory=lambda: ProcessSettings(name="levelset-gitops-agent")
    )
    metrics: MetricsSettings = field(default_factory=MetricsSettings)

    cache_dir: Path = Path("/var/cache/levelset/git")
    """Where the mirrors of repositories lie; it may be lost at any time."""

    kustomize: str = "kustomize"
    """The kustomize program: a name to find on PATH, or a path."""

    workers: int = 8
    """How many Applications are reconciled at once."""

    poll_seconds: float = 180.0
    """How old the refs of a repository may become before its server is asked again."""

    sync_timeout_seconds: float = 300.0
    """How long one reconcile, with its sync, may take before it is cut off and tried again."""

    git_timeout_seconds: float = 60.0
    """How long one request to a repository may take."""

    render_timeout_seconds: float = 30.0
    """How long kustomize may take."""

    webhook_host: str = "0.0.0.0"  # noqa: S104 - Git servers come from outside the pod
    """Address that the push webhook listens on."""

    webhook_port: int = 9080
    """Port of the push webhook; 0 lets the system choose one."""

    webhook_secret_file: Path | None = None
    """File with the secret that push webhooks are signed with; without it none is accepted."""

    qps: float = 200.0
    """Requests a second to the API server."""

    burst: int = 400
    """Requests to the API server that may come at once."""

    def __post_init__(self) -> None:
        require_positive(self, "workers", "qps", "burst", "sync_timeout_seconds")
        require_positive(self, "git_timeout_seconds", "render_timeout_seconds")
        if self.poll_seconds < 1:
            raise ValueError(f"--poll-seconds: expected at least 1, found {self.poll_seconds}")
        if not 0 <= self.webhook_port <= 65535:
            raise ValueError(f"--webhook-port: expected up to 65535, found {self.webhook_port}")
