"""Builds one pinned program into the cache: whole or not at all, and once if two ask at a time."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from local_cluster.errors import ClusterError
from local_cluster.process import log_tail
from local_cluster.tools import lookup
from local_cluster.tools.catalogue import Program

_LONGEST_BUILD_SECONDS = 3600
_POLL_SECONDS = 0.2
_STOP_SECONDS = 10.0
_SECONDS_FILE = "seconds.json"


class BuildFailed(ClusterError):  # noqa: N818 - reads as what happened
    """`go build` ended with an error; its last words are in the message."""

    reason = "BuildFailed"


def build(program: Program, go: Path, cancel: threading.Event | None = None) -> Path:
    """Build a program unless the cache has it by now, and return its file.

    Raises BuildFailed, also when `cancel` is set before the end; the cache is then as before.
    """
    target = lookup.cache_path(program)
    target.parent.mkdir(parents=True, exist_ok=True)
    cancel = cancel or threading.Event()
    with _locked(target.parent / f".{program.name}.lock", cancel):
        if not target.exists():
            started = time.monotonic()
            _build(program, go, target, cancel)
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
    with _locked(lookup.cache_root() / ".seconds.lock", threading.Event()):
        known = {**measured_seconds(), name: round(seconds, 1)}
        temporary = lookup.cache_root() / f".{_SECONDS_FILE}.new"
        temporary.write_text(json.dumps(known, indent=1, sort_keys=True))
        temporary.replace(lookup.cache_root() / _SECONDS_FILE)


def _build(program: Program, go: Path, target: Path, cancel: threading.Event) -> None:
    temporary = target.with_name(f".{target.name}.new")
    log = target.with_name(f".{target.name}.log")
    flags = ["-trimpath", f"-ldflags={program.linker_flags}", "-o", str(temporary)]
    with log.open("w") as output:
        compiler = subprocess.Popen(
            [str(go), "build", *flags, program.package],
            cwd=program.directory,
            env={**os.environ, "CGO_ENABLED": "0"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        reason_to_stop = _wait(compiler, cancel)
    if reason_to_stop:
        raise BuildFailed(f"{program.name}: `go build` {reason_to_stop} (log {log})")
    if compiler.returncode:
        raise BuildFailed(f"{program.name}: `go build` failed: {log_tail(log)} (log {log})")
    temporary.replace(target)
    log.unlink()


def _wait(compiler: "subprocess.Popen[bytes]", cancel: threading.Event) -> str:
    """Wait for the end of a build, or bring it about and say why."""
    end = time.monotonic() + _LONGEST_BUILD_SECONDS
    while compiler.poll() is None:
        if cancel.wait(_POLL_SECONDS):
            _stop(compiler)
            return "was stopped"
        if time.monotonic() > end:
            _stop(compiler)
            return "took over an hour"
    return ""


def _stop(compiler: "subprocess.Popen[bytes]") -> None:
    """Interrupt, since `go build` then ends its compilers and removes what they left."""
    compiler.send_signal(signal.SIGINT)
    try:
        compiler.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        compiler.kill()
        compiler.wait()


@contextlib.contextmanager
def _locked(file: Path, cancel: threading.Event) -> Iterator[None]:
    """Hold the lock of a file; another process may have it for as long as a build takes."""
    descriptor = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        while not _try_lock(descriptor):
            if cancel.wait(_POLL_SECONDS):
                raise BuildFailed(f"{file}: stopped while another process builds the same")
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
