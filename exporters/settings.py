"""How a process serves its metrics; the settings of every part take these fields in.

As a field of its own (`metrics: MetricsSettings = MetricsSettings()`), whose flags join the part's.
Encryption and authorization are on unless a word that says "insecure" is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from exporters.errors import ExportersError

_CHOICES = (
    "--metrics-cert-file with --metrics-key-file, --metrics-self-signed or --insecure-metrics"
)


@dataclass(frozen=True, kw_only=True)
class MetricsSettings:
    """Where and how /metrics, /healthz and /readyz are served."""

    metrics_host: str = "0.0.0.0"  # noqa: S104 - the kubelet and Prometheus come from outside
    """Address that /metrics, /healthz and /readyz listen on; all of the pod's by default."""

    metrics_port: int = 8443
    """Port that they listen on; 0 lets the system choose one."""

    metrics_cert_file: Path | None = None
    """PEM file with the serving certificate and its chain; read again when it changes."""

    metrics_key_file: Path | None = None
    """PEM file with the key of that certificate."""

    metrics_self_signed: bool = False
    """Make a certificate at start when there is no file; a scraper cannot verify it."""

    insecure_metrics: bool = False
    """Serve /metrics as plain HTTP to everybody; shown by the metric levelset_metrics_insecure."""

    def __post_init__(self) -> None:
        if not 0 <= self.metrics_port <= 65535:
            raise ValueError(
                f"--metrics-port: expected a number up to 65535, found {self.metrics_port}"
            )
        if (self.metrics_cert_file is None) != (self.metrics_key_file is None):
            raise ValueError("--metrics-cert-file and --metrics-key-file: give both or none")
        if sum(self._chosen()) > 1:
            raise ValueError(f"serving of /metrics: give one only of {_CHOICES}")

    def check(self) -> None:
        """Raise unless one way of serving is chosen; not at once, so that defaults can be made."""
        if not any(self._chosen()):
            raise ExportersError(
                f"serving of /metrics: expected one of {_CHOICES}, found none; "
                "the first is for production",
                reason="BadSettings",
            )

    def _chosen(self) -> tuple[bool, bool, bool]:
        has_files = self.metrics_cert_file is not None
        return has_files, self.metrics_self_signed, self.insecure_metrics
