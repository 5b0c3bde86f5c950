"""What `python -m supply_chain` can be told."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from exporters.settings import MetricsSettings
from kube_runtime.process_settings import ProcessSettings
from kube_runtime.settings import require_positive
from supply_chain import names
from supply_chain.certificates.plan import Lifetimes
from supply_chain.registry.auth import DEFAULT_TOKEN_HOSTS, parse_token_hosts


@dataclass(frozen=True, slots=True)
class SupplyChainSettings:
    """Verify images at admission: only what the right people signed may run."""

    process: ProcessSettings = field(default_factory=lambda: ProcessSettings(name=names.LEASE))
    metrics: MetricsSettings = field(default_factory=MetricsSettings)

    admission_host: str = "0.0.0.0"  # noqa: S104 - the API server comes from outside of the pod
    """Address that the webhooks listen on."""

    admission_port: int = 9443
    """Port that they listen on; 0 lets the system choose one."""

    webhook_url: str = ""
    """https URL at which the API server reaches this process; empty where it is a Service."""

    service_name: str = names.SERVICE
    """The Service in front of this process, in --namespace."""

    insecure_registries: tuple[str, ...] = ()
    """Registries (host or host:port) that are spoken to in plain HTTP; nothing is secret there."""

    registry_ca_file: Path | None = None
    """PEM file of authorities to trust for registries, in addition to the system's."""

    token_hosts: tuple[str, ...] = DEFAULT_TOKEN_HOSTS
    """registry=host pairs: which other host may hand out a registry's tokens and sees its login."""

    verification_seconds: float = 7.0
    """How long the images of one review may take; less than the webhook's own 10 s."""

    registry_request_seconds: float = 5.0
    """How long one request to a registry may take."""

    allow_cache_seconds: float = 3600.0
    """How long a verified digest is believed; a changed policy, key or root asks again at once."""

    deny_cache_seconds: float = 30.0
    """How long a refusal is repeated without asking the registry; errors never are."""

    certificate_seconds: float = 30 * 86_400.0
    """Life of the serving certificate; it is renewed when two thirds are over."""

    authority_seconds: float = 365 * 86_400.0
    """Life of the webhook's own certificate authority; renewed likewise, old and new overlapping."""

    announce_seconds: float = 60.0
    """How long the API server knows a new authority before it signs."""

    retire_seconds: float = 3_600.0
    """How long the API server still trusts an authority that no longer signs."""

    certificate_tick_seconds: float = 5.0
    """How often certificates and caBundle are looked at."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        if not 0 <= self.admission_port <= 65535:
            raise ValueError(
                f"--admission-port: expected a number up to 65535, found {self.admission_port}"
            )
        if self.webhook_url and not _is_https(self.webhook_url):
            raise ValueError(
                f"--webhook-url: expected https://HOST[:PORT], found {self.webhook_url!r}"
            )
        if not 0 < self.verification_seconds <= 8.5:
            raise ValueError(
                "--verification-seconds: expected more than 0 and at most 8.5 (the webhook ends at "
                f"10), found {self.verification_seconds:g}"
            )
        if not 0 < self.allow_cache_seconds <= 3600 or not 0 <= self.deny_cache_seconds <= 30:
            raise ValueError(
                "--allow-cache-seconds and --deny-cache-seconds: expected at most 3600 and 30"
            )
        require_positive(self, "registry_request_seconds", "certificate_tick_seconds")
        require_positive(self, "certificate_seconds", "authority_seconds")
        parse_token_hosts(self.token_hosts)

    @property
    def lifetimes(self) -> Lifetimes:
        """Return the certificates' lifetimes."""
        return Lifetimes(
            authority_seconds=self.authority_seconds,
            serving_seconds=self.certificate_seconds,
            announce_seconds=self.announce_seconds,
            retire_seconds=self.retire_seconds,
        )

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """Return the names that the API server may call us by."""
        service = f"{self.service_name}.{self.process.namespace}.svc"
        named = (service, f"{service}.cluster.local")
        host = urlsplit(self.webhook_url).hostname if self.webhook_url else None
        return (*named, host) if host else named


def _is_https(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme == "https" and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
