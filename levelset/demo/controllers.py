"""Step: the four controllers as processes, each under its own ServiceAccount with the chart's RBAC, one leader each."""

import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kube_runtime.api import ApiClient
from levelset.demo import accounts
from levelset.demo.narrator import Step
from levelset.demo.services import Services
from levelset.demo.stage import Stage
from local_cluster import ports, process, tools
from local_cluster.provider import Cluster
from local_cluster.services import running
from local_cluster.services.prometheus import ScrapeJob
from local_cluster.services.running import TlsFiles

_READY_TIMEOUT_SECONDS = 60.0
ACCOUNTS: Mapping[str, str] = {
    "workloads": "levelset-workloads",
    "gitops_agent": "levelset-gitops-agent",
    "supply_chain": "levelset-supply-chain",
    "exporters": "levelset-exporters",
}


@dataclass(frozen=True, slots=True)
class Controller:
    """One of the four, and where it serves its metrics."""

    part: str
    metrics_address: str
    program: process.Program


@dataclass(frozen=True, slots=True)
class Controllers:
    """All four, and how they are reached."""

    running: tuple[Controller, ...]
    tls: TlsFiles
    push_url: str
    push_secret: str = field(repr=False)
    scrape_token: Path

    def scrape_jobs(self) -> list[ScrapeJob]:
        """Return what Prometheus needs to scrape them: their authority and a token with the right to."""
        return [
            ScrapeJob(
                name=controller.part,
                targets=[controller.metrics_address],
                scheme="https",
                ca_file=self.tls.ca,
                bearer_token_file=self.scrape_token,
            )
            for controller in self.running
        ]


@dataclass(frozen=True, slots=True)
class _Addresses:
    host: str
    metrics: Mapping[str, int]
    push: int
    admission: int


async def start(
    stage: Stage, cluster: Cluster, services: Services, api: ApiClient, step: Step
) -> Controllers:
    """Start all four at once and wait until each says that it is ready."""
    addresses = _choose(cluster.host_address)
    tls = running.issue_server_certificate(stage.folder("tls"), cluster.host_address)
    push_secret = secrets.token_urlsafe(24)
    special = _special_flags(stage, services, addresses, push_secret)
    found = []
    for part, account in ACCOUNTS.items():
        token = await accounts.request_token(api, account)
        kubeconfig = accounts.write_kubeconfig(
            stage.folder("accounts") / f"{part}.kubeconfig",
            admin_kubeconfig=cluster.kubeconfig,
            token=token,
        )
        flags = [*_common_flags(kubeconfig, addresses, part, tls), *special.get(part, ())]
        found.append(_run(stage, addresses, part, flags))
    for controller in found:
        await _ready(controller, tls)
        step.fact(f"{controller.part} ready", f"as {ACCOUNTS[controller.part]}")
    token_file = stage.folder("accounts") / "prometheus.token"
    running.write_secret(token_file, await accounts.request_token(api, accounts.SCRAPER))
    step.summary = "4 controllers ready, each as its own ServiceAccount"
    return Controllers(
        running=tuple(found),
        tls=tls,
        push_url=f"http://{addresses.host}:{addresses.push}/",
        push_secret=push_secret,
        scrape_token=token_file,
    )


def _choose(host: str) -> _Addresses:
    *metrics, push, admission = ports.free_ports(len(ACCOUNTS) + 2, host)
    return _Addresses(host, dict(zip(ACCOUNTS, metrics, strict=True)), push, admission)


def _common_flags(kubeconfig: Path, to: _Addresses, part: str, tls: TlsFiles) -> list[str]:
    return [
        f"--kubeconfig={kubeconfig}",
        f"--metrics-host={to.host}",
        f"--metrics-port={to.metrics[part]}",
        f"--metrics-cert-file={tls.certificate}",
        f"--metrics-key-file={tls.key}",
    ]


def _special_flags(
    stage: Stage, services: Services, to: _Addresses, push_secret: str
) -> Mapping[str, Sequence[str]]:
    """Return what one part alone is told: where its servers listen, which registry is plain HTTP."""
    secret_file = stage.folder("accounts") / "push-webhook.secret"
    running.write_secret(secret_file, push_secret)
    return {
        "gitops_agent": (
            f"--cache-dir={stage.folder('mirrors')}",
            f"--kustomize={tools.find('kustomize')}",
            f"--webhook-host={to.host}",
            f"--webhook-port={to.push}",
            f"--webhook-secret-file={secret_file}",
        ),
        "supply_chain": (
            f"--admission-host={to.host}",
            f"--admission-port={to.admission}",
            f"--webhook-url=https://{to.host}:{to.admission}",
            f"--insecure-registries={services.registry.address}",
        ),
    }


def _run(stage: Stage, to: _Addresses, part: str, flags: Sequence[str]) -> Controller:
    program = process.Program.start(
        part,
        [sys.executable, "-m", part, *flags],
        log=stage.folder("logs") / f"{part}.log",
        dies_with_parent=not stage.keep,
    )
    stage.started(program)
    return Controller(part, f"{to.host}:{to.metrics[part]}", program)


async def _ready(controller: Controller, tls: TlsFiles) -> None:
    url = f"https://{controller.metrics_address}/readyz"

    async def is_ready() -> bool:
        return await running.answers(url, 200, ca=tls.ca)

    await running.come_up(controller.program, is_ready, timeout_seconds=_READY_TIMEOUT_SECONDS)
