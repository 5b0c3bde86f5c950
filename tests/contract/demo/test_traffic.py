"""The traffic client counts every request: who answered, and what went wrong."""

import asyncio
import sys
from pathlib import Path

import pytest
from aiohttp import web

from levelset.demo import traffic, waiting
from local_cluster import process

pytestmark = pytest.mark.contract


async def test_answers_and_failures_are_written_down(tmp_path: Path) -> None:
    failing = asyncio.Event()

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=500) if failing.is_set() else web.Response(text="v1 pod-a hi\n")

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    log = tmp_path / "requests.jsonl"
    client = process.Program.start(
        "traffic",
        [sys.executable, "-m", "levelset.demo.traffic", url, log],
        log=tmp_path / "traffic.log",
        dies_with_parent=True,
    )

    async def seen(version: str, error: str) -> str:
        requests = traffic.read_log(log)
        found = any((r.version, r.error) == (version, error) for r in requests)
        return "" if found else f"{len(requests)} requests"

    try:
        await waiting.until("an answer", lambda: seen("v1", ""), timeout_seconds=20)
        failing.set()
        await waiting.until("a failure", lambda: seen("", "HTTP 500"), timeout_seconds=20)
        await runner.cleanup()
        await waiting.until("a refusal", lambda: _refused(log), timeout_seconds=20)
    finally:
        await asyncio.to_thread(process.stop, [client])

    assert not client.identity.is_alive()
    assert all(r.seconds < 3.5 for r in traffic.read_log(log))


async def _refused(log: Path) -> str:
    found = any("ConnectionRefused" in r.error for r in traffic.read_log(log))
    return "" if found else "no refused connection yet"
