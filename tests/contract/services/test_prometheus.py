"""A real Prometheus scrapes what it is pointed at, with a token over TLS, and answers queries."""

import asyncio
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from aiohttp import web

from local_cluster.services import running
from local_cluster.services.prometheus import Prometheus, PrometheusError, ScrapeJob

pytestmark = pytest.mark.contract

TOKEN = "a-token"


async def eventually(read: Callable[[], Awaitable[bool]], *, timeout_seconds: float = 30.0) -> None:
    deadline = time.monotonic() + timeout_seconds
    while not await read():
        assert time.monotonic() < deadline, f"not so after {timeout_seconds:g} s"
        await asyncio.sleep(0.1)


async def test_it_scrapes_itself_and_answers(tmp_path: Path) -> None:
    async with Prometheus.start(tmp_path) as prometheus:
        address = prometheus.url.removeprefix("http://")
        await prometheus.set_jobs([ScrapeJob("self", [address], labels={"part": "test"})])

        async def is_up() -> bool:
            return [s.value for s in await prometheus.query('up{job="self",part="test"}')] == [1.0]

        await eventually(is_up)
        assert [(t.job, t.health) for t in await prometheus.targets()] == [("self", "up")]


async def test_it_presents_its_token_to_a_target_whose_authority_it_was_given(
    prometheus: Prometheus, tmp_path: Path
) -> None:
    async def metrics(request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return web.Response(status=403)
        return web.Response(text="levelset_test_total 7\n", content_type="text/plain")

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app)
    await runner.setup()
    files = running.issue_server_certificate(tmp_path / "tls", "127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    target = f"127.0.0.1:{runner.addresses[0][1]}"
    token_file = tmp_path / "token"
    running.write_secret(token_file, TOKEN)
    good = ScrapeJob(
        "good", [target], scheme="https", ca_file=files.ca, bearer_token_file=token_file
    )
    stranger = ScrapeJob("stranger", [target], scheme="https", ca_file=files.ca)
    distrustful = ScrapeJob("distrustful", [target], scheme="https", bearer_token_file=token_file)

    await prometheus.set_jobs([good, stranger, distrustful])

    async def are_scraped() -> bool:
        found = {t.job: t.health for t in await prometheus.targets()}
        return found == {"good": "up", "stranger": "down", "distrustful": "down"}

    await eventually(are_scraped)
    values = await prometheus.query("levelset_test_total")
    errors = {t.job: t.last_error for t in await prometheus.targets()}
    await runner.cleanup()
    assert [(s.labels["job"], s.value) for s in values] == [("good", 7.0)]
    assert "403" in errors["stranger"]
    assert "certificate" in errors["distrustful"]


async def test_a_query_that_does_not_parse_is_an_error_with_prometheus_words(
    prometheus: Prometheus,
) -> None:
    with pytest.raises(PrometheusError, match="parse error"):
        await prometheus.query("up{")


async def test_a_scalar_is_a_sample_without_labels(prometheus: Prometheus) -> None:
    assert [s.value for s in await prometheus.query("scalar(vector(3))")] == [3.0]
