"""A real Prometheus scrapes over TLS with a ServiceAccount's token that a real API server reviews."""

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from exporters.authorization import ScrapeAuthorization
from exporters.certificates import CertificateFiles
from exporters.instrument import Instruments
from exporters.server import MetricsServer, build_server
from exporters.settings import MetricsSettings
from kube_runtime.api import ApiClient
from kube_runtime.clock import FakeClock
from local_cluster.control_plane import ControlPlane
from local_cluster.kubectl import Kubectl
from local_cluster.services import running
from local_cluster.services.prometheus import Prometheus, ScrapeJob
from tests.contract.exporters.support import (
    RBAC,
    SYSTEM,
    TokenOf,
    eventually,
    kubeconfig_with_token,
    serving,
)
from tests.faults import faults
from tests.faults.proxy import FaultProxy, requests

pytestmark = pytest.mark.contract


@pytest.fixture
def instruments() -> Instruments:
    return Instruments("test")


@pytest.fixture
async def server(
    exporter_kubeconfig: Path, tls_files: running.TlsFiles, instruments: Instruments
) -> AsyncIterator[MetricsServer]:
    """The server as a part builds it, with the rights of the exporter's ServiceAccount."""
    settings = MetricsSettings(
        metrics_host="127.0.0.1",
        metrics_port=0,
        metrics_cert_file=tls_files.certificate,
        metrics_key_file=tls_files.key,
    )
    api = await ApiClient.connect(kubeconfig=str(exporter_kubeconfig), user_agent="levelset-tests")
    async with api, serving(build_server(settings, instruments, api=api, ready=lambda: True)) as s:
        yield s


async def _status(server: MetricsServer, token: str | None) -> int:
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    timeout = aiohttp.ClientTimeout(total=20)
    url = f"https://127.0.0.1:{server.port}/metrics"
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.get(url, headers=headers, ssl=False) as answer,
    ):
        await answer.read()
        return answer.status


async def test_prometheus_reads_the_counters_over_tls_with_a_token(
    server: MetricsServer,
    instruments: Instruments,
    tls_files: running.TlsFiles,
    scraper_token: str,
    prometheus: Prometheus,
    tmp_path: Path,
) -> None:
    token_file = tmp_path / "token"
    token_file.write_text(scraper_token)
    instruments.runtime.controller_started("rollout", 5)
    instruments.runtime.reconcile_finished("rollout", "success", 0.2)
    job = ScrapeJob(
        name="levelset-workloads",
        targets=[f"127.0.0.1:{server.port}"],
        scheme="https",
        ca_file=tls_files.ca,
        server_name="127.0.0.1",
        bearer_token_file=token_file,
    )

    await prometheus.set_jobs([job])

    async def has_arrived() -> bool:
        query = 'controller_runtime_reconcile_total{controller="rollout",result="success"} == 1'
        return bool(await prometheus.query(query))

    await eventually(has_arrived, "the counter in Prometheus")
    bucket = "controller_runtime_reconcile_time_seconds_bucket"
    found = await prometheus.query(f'{bucket}{{le="0.25",job="levelset-workloads"}}')
    assert [sample.value for sample in found] == [1.0]
    (build,) = await prometheus.query("levelset_build_info")
    assert build.labels["process"] == "test"
    (up,) = await prometheus.query('up{job="levelset-workloads"}')
    assert up.value == 1.0


async def test_without_a_token_the_answer_is_401(server: MetricsServer) -> None:
    assert await _status(server, None) == 401


async def test_with_a_forged_token_the_answer_is_401(
    server: MetricsServer, scraper_token: str
) -> None:
    head, payload, signature = scraper_token.split(".")
    forged = f"{head}.{payload}.{signature[:-8]}AAAAAAAA"

    assert await _status(server, forged) == 401


async def test_without_the_right_the_answer_is_403(
    server: MetricsServer, token_of: TokenOf
) -> None:
    assert await _status(server, token_of("nobody")) == 403


async def test_with_the_right_the_answer_is_200(server: MetricsServer, scraper_token: str) -> None:
    assert await _status(server, scraper_token) == 200


async def test_while_the_api_server_cannot_be_asked_a_known_scraper_is_served_and_no_stranger(
    kubeconfig: Path, tls_files: running.TlsFiles, scraper_token: str, tmp_path: Path
) -> None:
    clock = FakeClock()
    async with (
        FaultProxy.start(kubeconfig, tmp_path) as proxy,
        await ApiClient.connect(
            kubeconfig=str(proxy.kubeconfig), user_agent="levelset-tests", timeout_seconds=2
        ) as api,
    ):
        server = MetricsServer(
            Instruments("test"),
            host="127.0.0.1",
            port=0,
            tls=CertificateFiles(tls_files.certificate, tls_files.key),
            auth=ScrapeAuthorization(api, clock=clock),
            ready=lambda: True,
        )
        async with serving(server):
            assert await _status(server, scraper_token) == 200
            proxy.fail(faults.reset(), when=requests(part="reviews"), times=None)

            clock.shift(400)  # the decision has run out, the grace has not
            assert await _status(server, scraper_token) == 200
            assert await _status(server, "stranger") == 503

            proxy.clear()
            assert await _status(server, "stranger") == 401


async def test_a_standby_whose_fence_is_closed_is_scraped_as_well(
    exporter_kubeconfig: Path, scraper_token: str
) -> None:
    class Closed:
        def check(self) -> None:
            raise AssertionError("a review is no write")

    settings = MetricsSettings(metrics_host="127.0.0.1", metrics_port=0, metrics_self_signed=True)
    api = await ApiClient.connect(
        kubeconfig=str(exporter_kubeconfig), user_agent="levelset-tests", fence=Closed()
    )
    async with (
        api,
        serving(build_server(settings, Instruments("test"), api=api, ready=lambda: True)) as server,
    ):
        assert await _status(server, scraper_token) == 200


@pytest.mark.parametrize("part", ["workloads", "gitops-agent", "supply-chain", "exporters"])
async def test_every_part_may_ask_who_scrapes_it(
    control_plane: ControlPlane,
    kubectl: Kubectl,
    exporter_rbac: None,
    scraper_token: str,
    tmp_path: Path,
    part: str,
) -> None:
    kubectl("apply", "--server-side", "-f", RBAC.with_name(f"{part}.yaml"))
    token = kubectl("create", "token", f"levelset-{part}", "-n", SYSTEM).stdout.strip()
    own = kubeconfig_with_token(control_plane.kubeconfig, token, tmp_path / "part.kubeconfig")

    async with await ApiClient.connect(kubeconfig=str(own), user_agent="levelset-tests") as api:
        authorization = ScrapeAuthorization(api)

        assert await authorization.verdict(f"Bearer {scraper_token}") == "allowed"
        assert await authorization.verdict("Bearer stranger") == "unauthenticated"
