"""What the tests of this folder share beside fixtures: a running server, a patient question."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest
import yaml

from exporters.server import MetricsServer

ROOT = Path(__file__).parents[3]
RBAC = ROOT / "deploy" / "chart" / "rbac" / "exporters.yaml"
SYSTEM = "levelset-system"


@asynccontextmanager
async def serving(server: MetricsServer) -> AsyncIterator[MetricsServer]:
    """Run a server until the block is left."""
    task = asyncio.create_task(server.run())
    try:
        started = asyncio.create_task(server.wait_started())
        await asyncio.wait({task, started}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        await started
        yield server
    finally:
        task.cancel()
        await asyncio.wait({task})


async def eventually(
    question: Callable[[], Awaitable[bool]], what: str, *, seconds: float = 20.0
) -> None:
    """Ask until the answer is yes; fail with what was waited for."""
    until = time.monotonic() + seconds
    while not await question():
        if time.monotonic() > until:
            pytest.fail(f"waited {seconds:g} s for: {what}")
        await asyncio.sleep(0.05)


class TokenOf(Protocol):
    def __call__(self, account: str) -> str: ...


def kubeconfig_with_token(original: Path, token: str, target: Path) -> Path:
    """Copy a kubeconfig, with a token in the place of the certificate."""
    config = yaml.safe_load(original.read_text())
    for user in config["users"]:
        user["user"] = {"token": token}
    target.touch(mode=0o600)
    target.write_text(yaml.safe_dump(config))
    return target
