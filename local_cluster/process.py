"""Starts long-running programs and ends them by their own pid, never by name.

A pid alone may be reused, so a program is known by its pid and the kernel's start time of it.
Spawned without a Python object that waits: programs outlive `levelset cluster up`, and tests
start them outside any event loop.
"""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from local_cluster.errors import MissingTool, ProgramFailed

_POLL_SECONDS = 0.02
_PROXIES = {"http_proxy", "https_proxy", "all_proxy", "no_proxy"}
_STATE_FIELD, _START_FIELD = 0, 19  # of /proc/<pid>/stat, counted behind the command's name


@dataclass(frozen=True, slots=True)
class Identity:
    """A process, beyond the reuse of its number."""

    pid: int
    started: int

    @classmethod
    def of(cls, pid: int) -> "Identity | None":
        """Look a process up; None if there is none or if it is only waiting to be reaped."""
        fields = _stat_fields(pid)
        if fields is None or fields[_STATE_FIELD] in {"Z", "X"}:
            return None
        return cls(pid, int(fields[_START_FIELD]))

    def is_alive(self) -> bool:
        """Tell whether this very process still runs; reaps it if it was our child."""
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)
        return Identity.of(self.pid) == self

    def send(self, number: signal.Signals) -> None:
        """Send a signal if the process is still the same one."""
        if self.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


@dataclass(frozen=True, slots=True)
class Program:
    """A started program and where its output goes."""

    name: str
    identity: Identity
    log: Path

    @classmethod
    def start(
        cls,
        name: str,
        argv: Sequence[str | Path],
        *,
        log: Path,
        prefix: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        dies_with_parent: bool = False,
    ) -> "Program":
        """Start a program in a session of its own, its output in `log`.

        `prefix` is a command that replaces itself by the program, as nsenter does.
        `dies_with_parent`: the kernel kills it when the starting *thread* ends, however it ends.
        """
        words = [*prefix, *(_leash() if dies_with_parent else ()), *map(str, argv)]
        pid = _spawn(words, log, {**_own_environment(), **(environment or {})})
        if (identity := Identity.of(pid)) is None:
            raise _failure(name, "ended at once", log)
        return cls(name, identity, log)

    def wait_ready(self, is_ready: Callable[[], bool], *, timeout_seconds: float) -> None:
        """Wait until `is_ready`; raise with the last log lines if it ends or time is up."""
        deadline = time.monotonic() + timeout_seconds
        while not is_ready():
            self.check("ended before it was ready")
            if time.monotonic() > deadline:
                self.raise_failure(f"was not ready within {timeout_seconds:.0f} s")
            time.sleep(_POLL_SECONDS)

    def is_alive(self) -> bool:
        """Tell whether it still runs."""
        return self.identity.is_alive()

    def check(self, what: str = "has ended") -> None:
        """Raise ProgramFailed if it does not run any more."""
        if not self.is_alive():
            self.raise_failure(what)

    def raise_failure(self, what: str) -> NoReturn:
        """Raise ProgramFailed with the program's last words."""
        raise _failure(self.name, what, self.log)


def stop(programs: Sequence[Program], *, timeout_seconds: float = 5.0) -> None:
    """End programs, in the given order, all at once after the time is up."""
    deadline = time.monotonic() + timeout_seconds
    for program in programs:
        program.identity.send(signal.SIGTERM)
    identities = [program.identity for program in programs]
    if not wait_gone(identities, deadline=deadline):
        kill(identities)


def kill(identities: Sequence[Identity], *, timeout_seconds: float = 5.0) -> None:
    """End processes the hard way and wait until the kernel has let go of them."""
    for identity in identities:
        identity.send(signal.SIGKILL)
    wait_gone(identities, deadline=time.monotonic() + timeout_seconds)


def wait_gone(identities: Sequence[Identity], *, deadline: float) -> bool:
    """Wait for processes to end; False if the deadline (monotonic) came first."""
    while any([identity.is_alive() for identity in identities]):  # noqa: C419 - reap them all
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def log_tail(log: Path, lines: int = 3) -> str:
    """Read the last lines of a log, joined to one, for an error message."""
    try:
        text = log.read_text(errors="replace")
    except OSError:
        return ""
    kept = [line.strip() for line in text.splitlines() if line.strip()][-lines:]
    return " | ".join(line[:300] for line in kept)


def _own_environment() -> dict[str, str]:
    """Ours without proxies: programs of a local cluster talk to this machine alone."""
    return {name: value for name, value in os.environ.items() if name.lower() not in _PROXIES}


def _failure(name: str, what: str, log: Path) -> ProgramFailed:
    return ProgramFailed(f"{name} {what}", log, last_lines=log_tail(log))


def _leash() -> tuple[str, ...]:
    """A test's programs must not outlive a killed test run."""
    setpriv = shutil.which("setpriv")
    return (setpriv, "--pdeathsig", "KILL", "--") if setpriv else ()


def _spawn(words: list[str], log: Path, environment: Mapping[str, str]) -> int:
    executable = shutil.which(words[0])
    if executable is None:
        raise MissingTool(f"{words[0]}: no such program on PATH")
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return os.posix_spawn(
        executable,
        words,
        environment,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=(),
        setsigdef=(signal.SIGPIPE, signal.SIGINT, signal.SIGTERM),
    )


def _stat_fields(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()
