"""How a process serves its metrics; every part's settings take these fields in.

`class WorkloadsSettings(MetricsSettings, ...)`: all fields have defaults, so they can be inherited
in any order. Encryption and authorization are on unless a word that says "insecure" is given.
"""

from __future__ import annotations

from dataclasses import dataclass

from exporters.errors import ExportersError


@dataclass(frozen=True, kw_only=True)
class MetricsSettings:
    """Where and how /metrics, /healthz and /readyz are served."""

    metrics_host: str = "0.0.0.0"  # noqa: S104 - the kubelet probes and Prometheus scrapes the pod's address
    """Address to listen on; all of the pod's by default."""

    metrics_port: int = 8443
    """Port to listen on; 0 lets the system choose one."""

    metrics_cert_file: str = ""
    """PEM file with the serving certificate and its chain; read again when it changes."""

    metrics_key_file: str = ""
    """PEM file with the key of the certificate."""

    metrics_self_signed: bool = False
    """Make a certificate in memory at start when no file is given: encrypted, but nobody can know
    to whom; a scraper has to skip verification. For trying things out."""

    insecure_metrics: bool = False
    """Serve plain HTTP to everybody who asks; shown by the metric levelset_metrics_insecure."""

    def check_metrics(self) -> None:
        """Raise what is contradictory or missing, naming the flags."""
        if bool(self.metrics_cert_file) != bool(self.metrics_key_file):
            raise ExportersError(
                "--metrics-cert-file and --metrics-key-file: expected both or none, found one; "
                "give both",
                reason="BadSettings",
            )
        chosen = [bool(self.metrics_cert_file), self.metrics_self_signed, self.insecure_metrics]
        if sum(chosen) != 1:
            raise ExportersError(
                "serving of /metrics: expected exactly one of --metrics-cert-file with "
                "--metrics-key-file, --metrics-self-signed or --insecure-metrics, found "
                f"{sum(chosen)}; the first one is for production",
                reason="BadSettings",
            )
