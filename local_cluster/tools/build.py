"""Builds one pinned program into the cache: whole or not at all, and once if two ask at a time."""

import contextlib
import fcntl
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from local_cluster.errors import ClusterError
from local_cluster.process import log_tail
from local_cluster.tools import lookup
from local_cluster.tools.catalogue import Program

_LONGEST_BUILD_SECONDS = 3600
_SECONDS_FILE = "seconds.json"


class BuildFailed(ClusterError):  # noqa: N818 - reads as what happened
    """`go build` ended with an error; its last words are in the message."""

    reason = "BuildFailed"


def build(program: Program, go: Path) -> Path:
    """Build a program unless the cache has it by now, and return its file."""
    target = lookup.cache_path(program)
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.parent / f".{program.name}.lock"):
        if not target.exists():
            started = time.monotonic()
            _build(program, go, target)
            remember_seconds(program.name, time.monotonic() - started)
    return target


def expected_seconds(program: Program) -> float:
    """How long a build took on this machine, else on the one where it was measured."""
    return measured_seconds().get(program.name, float(program.seconds))


def measured_seconds() -> dict[str, float]:
    """Read what builds took here."""
    try:
        found = json.loads((lookup.cache_root() / _SECONDS_FILE).read_text())
        return {str(name): float(seconds) for name, seconds in found.items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}  # an estimate is not worth an error


def remember_seconds(name: str, seconds: float) -> None:
    """Write down what a build took."""
    with _locked(lookup.cache_root() / ".seconds.lock"):
        known = {**measured_seconds(), name: round(seconds, 1)}
        temporary = lookup.cache_root() / f".{_SECONDS_FILE}.new"
        temporary.write_text(json.dumps(known, indent=1, sort_keys=True))
        temporary.replace(lookup.cache_root() / _SECONDS_FILE)


def _build(program: Program, go: Path, target: Path) -> None:
    temporary = target.with_name(f".{target.name}.new")
    log = target.with_name(f".{target.name}.log")
    flags = ["-trimpath", f"-ldflags={program.linker_flags}", "-o", str(temporary)]
    with log.open("w") as output:
        try:
            done = subprocess.run(
                [str(go), "build", *flags, program.package],
                cwd=program.directory,
                env={**os.environ, "CGO_ENABLED": "0"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=_LONGEST_BUILD_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise BuildFailed(f"{program.name}: `go build` took over an hour (log {log})") from None
    if done.returncode:
        raise BuildFailed(f"{program.name}: `go build` failed: {log_tail(log)} (log {log})")
    temporary.replace(target)
    log.unlink()


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[None]:
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
