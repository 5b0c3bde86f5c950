"""Debian's Prometheus with a scrape configuration of ours, and a client of its query API.

The demo points it at the four controllers; the contract tests ask it whether what we expose is what it reads.
Everything is on loopback (or the address given) and in the state folder.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import yaml

from local_cluster import ports, process
from local_cluster.errors import ClusterError
from local_cluster.services import running

_READY_TIMEOUT_SECONDS = 30.0
_QUERY_TIMEOUT_SECONDS = 10.0
_SCRAPE_INTERVAL = "1s"  # a demo's rolling update takes seconds


class PrometheusError(ClusterError):
    """Prometheus cannot be started here, or refused a query."""

    reason = "Prometheus"


@dataclass(frozen=True, slots=True)
class ScrapeJob:
    """One job of the scrape configuration; `bearer_token_file` is read again by Prometheus at each scrape."""

    name: str
    targets: Sequence[str]
    scheme: str = "http"
    path: str = "/metrics"
    ca_file: Path | None = None
    server_name: str | None = None
    insecure_skip_verify: bool = False
    bearer_token_file: Path | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of an instant query."""

    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Target:
    """What Prometheus says of one target: `health` is up, down or unknown."""

    job: str
    url: str
    health: str
    last_error: str


@dataclass(frozen=True, slots=True)
class Prometheus:
    """A running Prometheus."""

    url: str
    state_dir: Path
    program: process.Program

    @classmethod
    def start(
        cls,
        state_dir: Path,
        *,
        jobs: Sequence[ScrapeJob] = (),
        rule_files: Sequence[Path] = (),
        host: str = "127.0.0.1",
    ) -> "AbstractAsyncContextManager[Prometheus]":
        """Run Prometheus until the block is left."""
        launch = cls.launch(state_dir, jobs=jobs, rule_files=rule_files, host=host)
        return running.until_left(launch)

    @classmethod
    async def launch(
        cls,
        state_dir: Path,
        *,
        jobs: Sequence[ScrapeJob] = (),
        rule_files: Sequence[Path] = (),
        host: str = "127.0.0.1",
        dies_with_parent: bool = True,
    ) -> "Prometheus":
        """Start Prometheus and return when it is ready; the caller stops it."""
        executable = running.find_program("prometheus", package="prometheus")
        state_dir = running.prepare_folder(state_dir)
        address = f"{host}:{ports.free_ports(1, host)[0]}"
        config = state_dir / "prometheus.yaml"
        config.write_text(render_config(jobs, rule_files))
        command: list[str | Path] = [
            executable,
            f"--config.file={config}",
            f"--storage.tsdb.path={state_dir / 'series'}",
            "--storage.tsdb.retention.time=1d",
            f"--web.listen-address={address}",
            "--web.enable-lifecycle",
            "--log.level=warn",
        ]
        program = process.Program.start(
            "prometheus",
            command,
            log=state_dir / "prometheus.log",
            dies_with_parent=dies_with_parent,
        )
        prometheus = cls(
            url=f"http://{address}",
            state_dir=state_dir,
            program=program,
        )
        await running.come_up(program, prometheus._is_ready, timeout_seconds=_READY_TIMEOUT_SECONDS)
        return prometheus

    async def set_jobs(self, jobs: Sequence[ScrapeJob], rule_files: Sequence[Path] = ()) -> None:
        """Replace the scrape configuration; PrometheusError when Prometheus refuses it."""
        config = self.state_dir / "prometheus.yaml"
        config.write_text(render_config(jobs, rule_files))
        async with self._session() as session, session.post(f"{self.url}/-/reload") as answer:
            if answer.status != 200:
                raise PrometheusError(f"reload refused: {(await answer.text()).strip()}")

    async def query(self, expression: str) -> list[Sample]:
        """Evaluate an instant query that yields a vector or a scalar."""
        data = await self._get("query", {"query": expression})
        if data["resultType"] == "scalar":
            return [Sample(labels={}, value=float(data["result"][1]))]
        return [Sample(labels=r["metric"], value=float(r["value"][1])) for r in data["result"]]

    async def targets(self) -> list[Target]:
        """Return the active targets with their last error."""
        data = await self._get("targets", {"state": "active"})
        return [
            Target(
                job=target["labels"]["job"],
                url=target["scrapeUrl"],
                health=target["health"],
                last_error=target["lastError"],
            )
            for target in data["activeTargets"]
        ]

    async def stop(self) -> None:
        """End Prometheus; its series stay in the state folder."""
        await running.end(self.program)

    async def _get(self, endpoint: str, params: Mapping[str, str]) -> dict[str, Any]:
        url = f"{self.url}/api/v1/{endpoint}"
        try:
            async with self._session() as session, session.get(url, params=params) as answer:
                body = await answer.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError) as error:
            raise PrometheusError(f"Prometheus at {self.url} does not answer: {error!r}") from error
        if body.get("status") != "success":
            raise PrometheusError(f"{endpoint} {dict(params)} refused: {body.get('error')}")
        data: dict[str, Any] = body["data"]
        return data

    async def _is_ready(self) -> bool:
        return await running.answers(f"{self.url}/-/ready", 200)

    @staticmethod
    def _session() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_QUERY_TIMEOUT_SECONDS))


def render_config(jobs: Sequence[ScrapeJob], rule_files: Sequence[Path]) -> str:
    """Return prometheus.yaml; pure."""
    config = {
        "global": {
            "scrape_interval": _SCRAPE_INTERVAL,
            "scrape_timeout": _SCRAPE_INTERVAL,
            "evaluation_interval": _SCRAPE_INTERVAL,
        },
        "rule_files": [str(path) for path in rule_files],
        "scrape_configs": [_scrape_config(job) for job in jobs],
    }
    return yaml.safe_dump(config, sort_keys=False)


def _scrape_config(job: ScrapeJob) -> dict[str, Any]:
    config: dict[str, Any] = {
        "job_name": job.name,
        "scheme": job.scheme,
        "metrics_path": job.path,
        "static_configs": [{"targets": list(job.targets), "labels": dict(job.labels)}],
    }
    if job.bearer_token_file:
        credentials = {"type": "Bearer", "credentials_file": str(job.bearer_token_file)}
        config["authorization"] = credentials
    if job.scheme == "https":
        tls: dict[str, Any] = {"insecure_skip_verify": job.insecure_skip_verify}
        if job.ca_file:
            tls["ca_file"] = str(job.ca_file)
        if job.server_name:
            tls["server_name"] = job.server_name
        config["tls_config"] = tls
    return config
