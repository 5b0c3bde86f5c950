"""Takes the API server away: killed and started anew as it was, or frozen with its sockets open."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from kube_runtime.api import ApiClient
from kube_runtime.errors import KubeError
from local_cluster import process
from local_cluster.control_plane import ControlPlane
from local_cluster.process import Program

_READY_SECONDS = 60.0


@asynccontextmanager
async def killed(plane: ControlPlane, api: ApiClient) -> AsyncIterator[None]:
    """Have no API server during the block; afterwards one with the same words and the same data."""
    before = _api_server(plane)
    words = _words(before)
    process.kill([before.identity])
    yield
    again = Program.start(before.name, words, log=before.log, dies_with_parent=True)
    plane._programs[plane._programs.index(before)] = again  # so that the plane's stop ends it
    await _until_ready(api, again)


@asynccontextmanager
async def frozen(plane: ControlPlane, api: ApiClient) -> AsyncIterator[None]:
    """Have an API server that takes connections and never answers during the block."""
    program = _api_server(plane)
    program.identity.send(signal.SIGSTOP)
    try:
        yield
    finally:
        program.identity.send(signal.SIGCONT)
    await _until_ready(api, program)


def _words(program: Program) -> list[str]:
    return Path(f"/proc/{program.identity.pid}/cmdline").read_text().rstrip("\0").split("\0")


def _api_server(plane: ControlPlane) -> Program:
    return next(each for each in plane._programs if each.name == "kube-apiserver")


async def _until_ready(api: ApiClient, program: Program) -> None:
    async with asyncio.timeout(_READY_SECONDS):
        while True:
            program.check()
            try:
                await api.request("GET", "/version", timeout_seconds=2)
            except KubeError:
                await asyncio.sleep(0.2)
            else:
                return
