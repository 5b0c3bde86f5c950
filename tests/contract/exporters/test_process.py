"""`python -m exporters` as it runs in a pod: own rights, TLS, a lease, an ordered end."""

import asyncio
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from local_cluster.kubectl import Kubectl
from local_cluster.ports import free_ports
from local_cluster.services import running
from tests.contract.exporters.support import eventually

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
APPLICATION = """
apiVersion: levelset.dev/v1alpha1
kind: Application
metadata: {name: shop}
spec:
  source: {repoURL: "https://git.example/shop.git", path: staging}
  destination: {namespace: shop}
"""


@dataclass
class Exporter:
    """A running exporter."""

    process: asyncio.subprocess.Process
    port: int
    token: str

    async def get(self, path: str) -> tuple[int, str]:
        timeout = aiohttp.ClientTimeout(total=10)
        headers = {"Authorization": f"Bearer {self.token}"}
        url = f"https://127.0.0.1:{self.port}{path}"
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, headers=headers, ssl=False) as answer,
        ):
            return answer.status, await answer.text()

    async def shows(self, text: str) -> bool:
        try:
            return text in (await self.get("/metrics"))[1]
        except aiohttp.ClientError:  # not up yet
            return False

    def soon_shows(self, text: str) -> Callable[[], Awaitable[bool]]:
        return lambda: self.shows(text)


@asynccontextmanager
async def _exporter(
    kubeconfig: Path, tls: running.TlsFiles, token: str, *flags: str
) -> AsyncIterator[Exporter]:
    (port,) = free_ports(1)
    process = await _start(
        [
            f"--kubeconfig={kubeconfig}",
            "--metrics-host=127.0.0.1",
            f"--metrics-port={port}",
            f"--metrics-cert-file={tls.certificate}",
            f"--metrics-key-file={tls.key}",
            "--retry-seconds=0.5",
            *flags,
        ]
    )
    try:
        yield Exporter(process, port, token)
    finally:
        if process.returncode is None:
            process.kill()
        _, errors = await process.communicate()
        print(errors.decode())  # noqa: T201 - shown by pytest when the test fails


async def _start(flags: Sequence[str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "exporters",
        *flags,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def _outcome(*flags: str) -> tuple[int, str]:
    process = await _start(flags)
    async with asyncio.timeout(30):
        _, errors = await process.communicate()
    assert process.returncode is not None
    return process.returncode, errors.decode()


async def test_it_serves_the_state_with_its_own_rights_and_ends_in_order(
    crds: None,
    kubectl: Kubectl,
    namespace: str,
    exporter_kubeconfig: Path,
    tls_files: running.TlsFiles,
    scraper_token: str,
) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", stdin=APPLICATION)

    async with _exporter(exporter_kubeconfig, tls_files, scraper_token) as exporter:
        info = f'levelset_app_info{{exported_namespace="{namespace}",name="shop",project="default"'
        await eventually(exporter.soon_shows(info), "the Application on the page", seconds=30)
        assert (await exporter.get("/readyz"))[0] == 200
        _, page = await exporter.get("/metrics")
        assert 'leader_election_master_status{name="levelset-exporters"} 1.0' in page
        assert 'levelset_exporter_kind_unavailable{kind="Application"} 0.0' in page
        assert "levelset_metrics_insecure 0.0" in page

        exporter.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            assert await exporter.process.wait() == 0

    holder = kubectl(
        "get", "lease", "levelset-exporters", "-n", "levelset-system", "-o", "jsonpath={.spec}"
    ).stdout
    assert '"holderIdentity":""' in holder or "holderIdentity" not in holder


async def test_of_two_replicas_one_shows_the_state_and_the_other_takes_over(
    crds: None,
    kubectl: Kubectl,
    namespace: str,
    exporter_kubeconfig: Path,
    tls_files: running.TlsFiles,
    scraper_token: str,
) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", stdin=APPLICATION)
    info = f'levelset_app_info{{exported_namespace="{namespace}"'

    async with (
        _exporter(exporter_kubeconfig, tls_files, scraper_token) as first,
    ):
        await eventually(first.soon_shows(info), "the first one to lead", seconds=30)
        async with _exporter(exporter_kubeconfig, tls_files, scraper_token) as second:
            standby = 'leader_election_master_status{name="levelset-exporters"} 0.0'
            await eventually(second.soon_shows(standby), "the second one to wait", seconds=30)
            assert not await second.shows(info)

            first.process.send_signal(signal.SIGTERM)
            await eventually(second.soon_shows(info), "the second one to lead", seconds=30)


async def test_a_port_that_is_taken_is_one_line_and_code_1(
    crds: None, exporter_kubeconfig: Path, tls_files: running.TlsFiles, scraper_token: str
) -> None:
    async with _exporter(exporter_kubeconfig, tls_files, scraper_token) as first:
        await eventually(first.soon_shows("levelset_build_info"), "the first one", seconds=30)

        code, errors = await _outcome(
            f"--kubeconfig={exporter_kubeconfig}",
            "--metrics-host=127.0.0.1",
            f"--metrics-port={first.port}",
            "--metrics-self-signed",
        )

    assert code == 1
    assert re.search(rf"127\.0\.0\.1:{first.port}.*--metrics-port", errors)
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--no-such-flag"], 2, "--no-such-flag"),
        (["--metrics-port=high"], 2, "--metrics-port: expected a whole number"),
        (["--metrics-self-signed", "--insecure-metrics"], 2, "give one only of"),
        (["--metrics-cert-file=/nowhere"], 2, "give both or none"),
        (["--max-series-per-family=0"], 2, "expected 1 or more"),
        ([], 1, "expected one of --metrics-cert-file"),
        (["--metrics-self-signed", "--kubeconfig=/nowhere"], 1, "/nowhere"),
        (
            ["--kubeconfig=KUBECONFIG", "--metrics-cert-file=/no", "--metrics-key-file=/no"],
            1,
            "expected a PEM chain",
        ),
    ],
)
async def test_bad_input_is_one_line_with_the_thing_named(
    exporter_kubeconfig: Path, flags: list[str], code: int, message: str
) -> None:
    given = [flag.replace("KUBECONFIG", str(exporter_kubeconfig)) for flag in flags]

    found, errors = await _outcome(*given)

    assert (found, message in errors) == (code, True), errors
    assert "Traceback" not in errors
    last = errors.strip().splitlines()[-1]
    assert message in last
