"""Run a child program that is not trusted to end, to be quiet or to stay small.

Used for git's network commands and for kustomize. The child gets exactly the environment that it is
given, leads its own process group, and the whole group is killed on timeout, cancellation or excess.
"""

import asyncio
import contextlib
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitops_agent.errors import LimitExceeded

_STDERR_LIMIT = 64 * 1024
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """How much a child may take before it is killed."""

    timeout_seconds: float
    output_bytes: int
    resources: Mapping[int, int] = field(default_factory=dict)
    """RLIMIT_* to their hard and soft value."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a child ended."""

    code: int
    stdout: bytes = field(repr=False)
    stderr: str = field(repr=False)


async def run(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], limits: ProcessLimits
) -> Finished:
    """Run to the end; raises TimeoutError, LimitExceeded, or OSError where it cannot start."""
    process = await asyncio.create_subprocess_exec(
        *arguments,
        cwd=cwd,
        env=dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _limit(process.pid, limits.resources)
        async with asyncio.timeout(limits.timeout_seconds):
            return await _collect(process, arguments[0], limits.output_bytes)
    finally:
        await _end(process)


async def _collect(process: asyncio.subprocess.Process, name: str, limit: int) -> Finished:
    if process.stdout is None or process.stderr is None:
        raise AssertionError("both streams are pipes")
    stderr = asyncio.ensure_future(_read_some(process.stderr))
    try:
        stdout = await _read_all(process.stdout, name, limit)
        code = await process.wait()
        return Finished(code, stdout, (await stderr).decode(errors="replace"))
    finally:
        stderr.cancel()


async def _read_all(stream: asyncio.StreamReader, name: str, limit: int) -> bytes:
    chunks, size = [], 0
    while chunk := await stream.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise LimitExceeded(f"{Path(name).name} wrote more than the allowed {limit} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


async def _read_some(stream: asyncio.StreamReader) -> bytes:
    """Keep the end of the stream, where programs say why they failed, and drain the rest."""
    kept = b""
    while chunk := await stream.read(_CHUNK):
        kept = (kept + chunk)[-_STDERR_LIMIT:]
    return kept


def _limit(pid: int, resources: Mapping[int, int]) -> None:
    # After the start, by prlimit(2): a preexec_fn may deadlock in a process with threads.
    for kind, value in resources.items():
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, kind, (value, value))


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill what is left of the group; its leader may be gone while helpers of it still run."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # asyncio's wait() also waits for the end of both pipes, which never comes when one was full
    # and nobody reads on, or when a helper that has left the group holds it.
    process._transport.close()  # type: ignore[attr-defined] # noqa: SLF001 - no public way
    if process.returncode is None:
        await process.wait()
