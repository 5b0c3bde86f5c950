"""Child processes that are started, watched and ended by their own pid.

Every program of the local cluster runs through here: the control plane, the nodes, the git server, the
registry, Prometheus, the controllers of the demo. A child leaves two files in its state folder: its log, and a
record of its pid with the time the kernel started it, so that a later process can end it too and never hits a
stranger that was given the same pid. Nothing here ends a process by its name.
"""

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from local_cluster.errors import LocalClusterError

_POLL_SECONDS = 0.02
_STAT_STATE, _STAT_START_TIME = 0, 19  # fields 3 and 22 of proc(5) stat, counted after the name


class ChildFailedError(LocalClusterError):
    """A program ended, or did not become ready in time; the message carries its last log lines."""

    reason = "ChildFailed"


@dataclass(frozen=True, slots=True)
class ProcessRecord:
    """A process as the kernel knows it: the pid alone may belong to somebody else tomorrow."""

    pid: int
    start_ticks: int

    @classmethod
    def of(cls, pid: int) -> "ProcessRecord":
        """Read the record of a live process; ProcessLookupError when there is none."""
        stat = _stat_fields(pid)
        if stat is None:
            raise ProcessLookupError(pid)
        return cls(pid=pid, start_ticks=int(stat[_STAT_START_TIME]))

    @classmethod
    def load(cls, path: Path) -> "ProcessRecord | None":
        """Read a record written by `save`; None where there is none or it is not one."""
        try:
            raw = json.loads(path.read_text())
            return cls(pid=int(raw["pid"]), start_ticks=int(raw["start_ticks"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, path: Path) -> None:
        """Write the record so that another process can find this one again."""
        path.write_text(json.dumps({"pid": self.pid, "start_ticks": self.start_ticks}))

    def is_alive(self) -> bool:
        """Tell whether this very process still runs; a zombie does not."""
        stat = _stat_fields(self.pid)
        return (
            stat is not None
            and stat[_STAT_STATE] not in {"Z", "X"}
            and int(stat[_STAT_START_TIME]) == self.start_ticks
        )

    def send(self, number: signal.Signals) -> None:
        """Signal the process; nothing happens when it has gone."""
        if self.is_alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    async def end(self, *, timeout_seconds: float = 10.0, reap: Callable[[], object] = int) -> None:
        """Terminate, wait until the deadline, then kill; returns when the process has gone."""
        self.send(signal.SIGTERM)
        if await self._gone_within(timeout_seconds, reap):
            return
        self.send(signal.SIGKILL)
        if not await self._gone_within(timeout_seconds, reap):
            raise ChildFailedError(f"process {self.pid} is still there after SIGKILL")

    async def _gone_within(self, timeout_seconds: float, reap: Callable[[], object]) -> bool:
        deadline = time.monotonic() + timeout_seconds
        while True:
            reap()
            if not self.is_alive():
                return True
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLL_SECONDS)


class Child:
    """One running program with its log and its record."""

    def __init__(
        self, name: str, popen: "subprocess.Popen[bytes]", *, log: Path, record_path: Path
    ):
        self.name = name
        self.log = log
        self.record = ProcessRecord.of(popen.pid)
        self._popen = popen
        self._record_path = record_path
        self.record.save(record_path)

    @classmethod
    def spawn(
        cls,
        name: str,
        argv: Sequence[str | Path],
        *,
        state_dir: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        net_namespace: Path | None = None,
    ) -> Self:
        """Start a program in a session of its own, so that Ctrl-C reaches us and not it.

        `net_namespace` is a path such as /run/netns/NAME; nsenter replaces itself by the program, so the pid
        stays the program's. Log: STATE/NAME.log, appended; record: STATE/NAME.pid.
        """
        state_dir.mkdir(parents=True, exist_ok=True)
        log = state_dir / f"{name}.log"
        enter = ["nsenter", f"--net={net_namespace}"] if net_namespace else []
        command = [*enter, *map(str, argv)]
        try:
            with log.open("ab") as out:
                popen = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else dict(env),
                    cwd=cwd,
                    start_new_session=True,
                )
        except OSError as error:
            raise ChildFailedError(
                f"cannot start {name} ({command[0]}): {error.strerror}"
            ) from error
        return cls(name, popen, log=log, record_path=state_dir / f"{name}.pid")

    @property
    def pid(self) -> int:
        """The program's own pid."""
        return self.record.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative when a signal ended it."""
        return self._popen.poll()

    def check(self) -> None:
        """Raise ChildFailedError with the last log lines when the program has ended."""
        if (code := self.exit_code) is not None:
            raise ChildFailedError(f"{self.name} ended with code {code}; {self.last_words()}")

    async def wait_until(
        self,
        is_ready: Callable[[], Awaitable[bool]],
        *,
        timeout_seconds: float = 20.0,
        poll_seconds: float = 0.05,
    ) -> None:
        """Poll until ready; fails at once when the program ends, and at the deadline."""
        deadline = time.monotonic() + timeout_seconds
        while not await is_ready():
            self.check()
            if time.monotonic() > deadline:
                raise ChildFailedError(
                    f"{self.name} (pid {self.pid}) is not ready after {timeout_seconds:g} s; {self.last_words()}"
                )
            await asyncio.sleep(poll_seconds)

    async def stop(self, *, timeout_seconds: float = 10.0) -> None:
        """End the program by its pid: terminate, wait, kill. Safe to call twice."""
        await self.record.end(timeout_seconds=timeout_seconds, reap=self._popen.poll)
        self._record_path.unlink(missing_ok=True)

    def last_words(self, lines: int = 8) -> str:
        """Say where the log is and how it ends, for an error message."""
        return f"log {self.log} ends with:\n{tail(self.log, lines)}"


def tail(path: Path, lines: int = 8, *, limit_bytes: int = 16_384) -> str:
    """Return the last lines of a text file, indented; reads no more than the end of it."""
    try:
        with path.open("rb") as log:
            log.seek(max(0, path.stat().st_size - limit_bytes))
            text = log.read(limit_bytes).decode(errors="replace")
    except OSError as error:
        return f"  (cannot be read: {error.strerror})"
    return "\n".join(f"  {line[:400]}" for line in text.splitlines()[-lines:]) or "  (empty)"


def _stat_fields(pid: int) -> list[str] | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return stat.rpartition(")")[2].split()  # the name in parentheses may hold blanks
