"""What the handles of the services share: a state folder, secrets in files, waiting, ending.

`local_cluster.process` starts and ends programs without an event loop; the services are asked over HTTP whether they
answer, so the waiting here is asynchronous. Nothing in it knows a particular service.
"""

import asyncio
import shutil
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import aiohttp

from local_cluster import pki, process
from local_cluster.errors import MissingTool

_POLL_SECONDS = 0.05
_PROBE_TIMEOUT_SECONDS = 2.0
_SYSTEM_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"  # not on everybody's PATH


class Stoppable(Protocol):
    """A handle of something that runs."""

    async def stop(self) -> None:
        """End it."""


_Handle = TypeVar("_Handle", bound=Stoppable)


@asynccontextmanager
async def until_left(launch: Awaitable[_Handle]) -> AsyncIterator[_Handle]:
    """Await a launch, and stop what came of it when the block is left."""
    handle = await launch
    try:
        yield handle
    finally:
        await handle.stop()


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files of one TLS server, and the authority that its clients must trust."""

    ca: Path
    certificate: Path
    key: Path


def issue_server_certificate(directory: Path, host: str) -> TlsFiles:
    """Make a new authority in `directory`, and a certificate of it for `host`."""
    authority = pki.Authority.create(directory, "levelset services")
    issued = authority.issue("tls", common_name=host, hosts=[host])
    return TlsFiles(ca=authority.certificate, certificate=issued.certificate, key=issued.key)


def find_program(name: str, *, package: str) -> str:
    """Find a program of the system; MissingTool names the Debian package."""
    found = shutil.which(name) or shutil.which(name, path=_SYSTEM_FOLDERS)
    if found is None:
        raise MissingTool(f"{name} is not installed; Debian's package is {package}")
    return found


def prepare_folder(directory: Path) -> Path:
    """Make a state folder and return its absolute path."""
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve()


def write_secret(path: Path, content: str) -> None:
    """Write a file that only its owner can read, at no moment otherwise."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(content)


async def answers(url: str, status: int, *, ca: Path | None = None) -> bool:
    """Tell whether a GET of `url` is answered with `status` at this moment."""
    trust = ssl.create_default_context(cafile=ca) if ca else True
    timeout = aiohttp.ClientTimeout(total=_PROBE_TIMEOUT_SECONDS)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, ssl=trust) as answer,
        ):
            return answer.status == status
    except (aiohttp.ClientError, TimeoutError, OSError):
        return False


async def come_up(
    program: process.Program, is_ready: Callable[[], Awaitable[bool]], *, timeout_seconds: float
) -> None:
    """Wait until ready; a program that ends or is late raises ProgramFailed and does not stay."""
    deadline = time.monotonic() + timeout_seconds
    try:
        while not await is_ready():
            if not program.identity.is_alive():
                program.raise_failure("ended before it was ready")
            if time.monotonic() > deadline:
                program.raise_failure(f"was not ready within {timeout_seconds:.0f} s")
            await asyncio.sleep(_POLL_SECONDS)
    except BaseException:
        await end(program)
        raise


async def end(program: process.Program) -> None:
    """End a program by its own pid: terminate, wait, kill. Safe to call twice."""
    await asyncio.to_thread(process.stop, [program])
