"""The HTTP server over real sockets and TLS."""

import asyncio
import gzip
import logging
import socket
import ssl
import statistics
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text

from exporters.certificates import CertificateFiles, SelfSigned
from exporters.errors import CannotServe
from exporters.instrument import Instruments
from exporters.server import MetricsServer
from local_cluster.services import running
from tests.contract.exporters.support import eventually, serving

pytestmark = pytest.mark.contract

OPENMETRICS = "application/openmetrics-text;version=1.0.0"
STATE = b'# HELP levelset_state A test.\n# TYPE levelset_state gauge\nlevelset_state{name="x"} 1\n'


def _server(
    *,
    tls: CertificateFiles | SelfSigned | None = None,
    port: int = 0,
    ready: Callable[[], bool] = lambda: True,
    extra: tuple[Callable[[], bytes], ...] = (),
    instruments: Instruments | None = None,
) -> MetricsServer:
    return MetricsServer(
        instruments or Instruments("test"),
        host="127.0.0.1",
        port=port,
        tls=tls,
        auth=None,
        ready=ready,
        extra=extra,
    )


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=20),
        headers={"Accept-Encoding": "identity"},
        auto_decompress=False,
    ) as session:
        yield session


async def test_both_formats_are_served_and_parse_with_the_extra_page_in_them(
    session: aiohttp.ClientSession,
) -> None:
    async with serving(_server(extra=(lambda: STATE,))) as server:
        url = f"http://127.0.0.1:{server.port}/metrics"
        async with session.get(url, headers={"Accept": OPENMETRICS}) as answer:
            strict = await answer.text()
            strict_type = answer.headers["Content-Type"]
        async with session.get(url) as answer:
            plain = await answer.text()
            plain_type = answer.headers["Content-Type"]

    assert strict_type == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert plain_type == "text/plain; version=0.0.4; charset=utf-8"
    assert strict.endswith('levelset_state{name="x"} 1\n# EOF\n')
    assert "levelset_state" in {family.name for family in openmetrics(strict)}  # type: ignore[no-untyped-call]
    assert "levelset_state" in {family.name for family in text(plain)}


async def test_a_page_is_compressed_for_those_who_ask(session: aiohttp.ClientSession) -> None:
    async with serving(_server()) as server:
        url = f"http://127.0.0.1:{server.port}/metrics"
        async with session.get(url, headers={"Accept-Encoding": "gzip"}) as answer:
            compressed = await answer.read()
            assert answer.headers["Content-Encoding"] == "gzip"
        async with session.get(url) as answer:
            plain = await answer.read()
            assert "Content-Encoding" not in answer.headers

    assert b"levelset_build_info" in gzip.decompress(compressed)
    assert len(compressed) < len(plain) / 3


async def test_an_extra_page_that_fails_costs_itself_only(
    session: aiohttp.ClientSession, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> bytes:
        raise RuntimeError("a bug")

    with caplog.at_level(logging.CRITICAL, logger="exporters.registry"):
        async with serving(_server(extra=(broken, lambda: STATE))) as server:
            url = f"http://127.0.0.1:{server.port}/metrics"
            async with session.get(url) as answer:
                page = await answer.text()

    assert answer.status == 200
    assert "levelset_state" in page
    assert 'levelset_metrics_collect_errors_total{collector="' in page


async def test_readiness_follows_the_process_and_liveness_does_not(
    session: aiohttp.ClientSession,
) -> None:
    is_ready = False
    async with serving(_server(ready=lambda: is_ready)) as server:
        base = f"http://127.0.0.1:{server.port}"
        async with session.get(f"{base}/readyz") as answer:
            assert answer.status == 503
        async with session.get(f"{base}/healthz") as answer:
            assert answer.status == 200
        is_ready = True
        async with session.get(f"{base}/readyz") as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/", 404), ("GET", "/metrics/", 404), ("POST", "/metrics", 405)],
)
async def test_nothing_else_is_served(
    session: aiohttp.ClientSession, method: str, path: str, status: int
) -> None:
    async with serving(_server()) as server:
        url = f"http://127.0.0.1:{server.port}{path}"
        async with session.request(method, url) as answer:
            assert answer.status == status


async def test_a_port_that_is_taken_is_named_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(CannotServe, match=rf"127\.0\.0\.1:{port}: .*--metrics-port") as caught:
            await _server(port=port).run()

    assert "\n" not in caught.value.diagnostics()


async def test_a_self_signed_server_speaks_tls_only(session: aiohttp.ClientSession) -> None:
    async with serving(_server(tls=SelfSigned("127.0.0.1"))) as server:
        url = f"https://127.0.0.1:{server.port}/healthz"
        async with session.get(url, ssl=False) as answer:
            assert answer.status == 200
        with pytest.raises(aiohttp.ClientError):
            await session.get(url)  # nobody vouches for it
        with pytest.raises(aiohttp.ClientError):
            await session.get(url.replace("https", "http"))


async def test_a_rotated_certificate_is_used_for_new_connections(
    tls_files: running.TlsFiles, tmp_path: Path
) -> None:
    files = CertificateFiles(tls_files.certificate, tls_files.key, check_seconds=0.05)
    async with serving(_server(tls=files)) as server:
        before = await _served_certificate(server.port)
        other = running.issue_server_certificate(tmp_path / "other", "127.0.0.1")
        tls_files.key.write_bytes(other.key.read_bytes())
        tls_files.certificate.write_bytes(other.certificate.read_bytes())

        async def is_new() -> bool:
            return await _served_certificate(server.port) != before

        await eventually(is_new, "the new certificate", seconds=5)


async def test_a_large_page_does_not_hold_up_the_probes(session: aiohttp.ClientSession) -> None:
    lines = b"".join(b'levelset_state{name="%d"} 1\n' % number for number in range(100_000))
    async with serving(_server(extra=(lambda: STATE + lines,))) as server:
        base = f"http://127.0.0.1:{server.port}"
        scrapes = [asyncio.create_task(_read(session, f"{base}/metrics")) for _ in range(5)]
        waits = []
        while not all(scrape.done() for scrape in scrapes):
            begin = time.perf_counter()
            await _read(session, f"{base}/healthz")
            waits.append(time.perf_counter() - begin)

    # The median, since a busy machine holds up anybody now and then; rendering inside the loop
    # made each probe wait for a whole page, 0.71 s.
    assert statistics.median(waits) < 0.25


async def test_a_blocked_event_loop_is_seen() -> None:
    instruments = Instruments("test")
    name, labels = "levelset_event_loop_lag_seconds_bucket", {"le": "0.1"}
    async with serving(_server(instruments=instruments)):
        await asyncio.sleep(0.3)
        time.sleep(0.5)  # noqa: ASYNC251 - the bug that is to be seen

        async def is_seen() -> bool:
            late = instruments.registry.get_sample_value(name, {"le": "+Inf"}) or 0.0
            return late > (instruments.registry.get_sample_value(name, labels) or 0.0)

        await eventually(is_seen, "a lag over 0.1 s", seconds=5)


async def _read(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url) as answer:
        return await answer.read()


async def _served_certificate(port: int) -> bytes:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    found: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    return found
