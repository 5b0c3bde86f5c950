"""Where the demo plays: its options, its folders, and everything that it has started.

What was started is written down at once, so that the same teardown serves the end of the demo, Ctrl-C, a failure,
and `levelset demo --down` a day later. Nothing is ended by name.
"""

import asyncio
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from levelset.demo.errors import DemoFailedError
from local_cluster import process
from local_cluster.embedded import EmbeddedProvider

CLUSTER = "demo"
NAMESPACE = "staging"
SYSTEM_NAMESPACE = "levelset-system"
_KEPT = ("logs", "traffic")
_CHECKOUT = Path(__file__).parent.parent.parent
EXAMPLES = _CHECKOUT / "examples" / "demo"
DEPLOY = _CHECKOUT / "deploy"


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for."""

    keep: bool = False
    install_packages: bool = True
    nodes: int = 3
    picture: Path | None = None


def state_directory() -> Path:
    """Return the demo's folder below XDG_STATE_HOME."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base, "levelset", "demo").absolute()


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep a second demo out while one plays; the kernel lets go when the process ends."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with directory.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DemoFailedError(
                "another demo is playing; wait for its end, or press Ctrl-C there"
            ) from None
        yield


@dataclass(slots=True)
class Stage:
    """The demo's folder and the programs that run for it."""

    directory: Path
    keep: bool
    programs: list[process.Program] = field(default_factory=list)

    @classmethod
    def take(cls, directory: Path) -> "Stage":
        """Find what an earlier demo has left running; nothing when there is none."""
        stage = cls(directory, keep=False)
        try:
            records = json.loads(stage._record.read_text())
        except (OSError, ValueError):
            records = []
        for raw in records:
            identity = process.Identity(raw["pid"], raw["started"])
            stage.programs.append(process.Program(raw["name"], identity, Path(raw["log"])))
        return stage

    @classmethod
    def clear(cls, directory: Path, *, keep: bool) -> "Stage":
        """Make the folder anew."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(mode=0o700, parents=True)
        return cls(directory, keep)

    @property
    def is_running(self) -> bool:
        """Whether any of the programs still lives."""
        return any(program.identity.is_alive() for program in self.programs)

    def folder(self, name: str) -> Path:
        """Return a folder of the demo, made if need be."""
        path = self.directory / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def started(self, program: process.Program) -> None:
        """Write a program down, so that it will be ended."""
        self.programs.append(program)
        self._write_down()

    def failed_programs(self) -> list[process.Program]:
        """List the programs that have ended although nobody asked them to."""
        return [program for program in self.programs if not program.identity.is_alive()]

    async def end(self, program: process.Program) -> None:
        """End one program before its time."""
        self.programs.remove(program)
        self._write_down()
        await asyncio.to_thread(process.stop, [program])

    async def tear_down(self, report: Callable[[str], None]) -> None:
        """End the programs, the youngest first, then the cluster; logs and picture stay."""
        ending = [p for p in reversed(self.programs) if p.identity.is_alive()]
        await asyncio.to_thread(process.stop, ending, timeout_seconds=15.0)
        if ending:
            report(
                f"{len(ending)} programs ended by their pids: {', '.join(p.name for p in ending)}"
            )
        await asyncio.to_thread(EmbeddedProvider().down, CLUSTER, report)
        self._tidy()
        self.programs.clear()

    def _tidy(self) -> None:
        """Keep what may be read later: logs, requests, the picture; tokens, keys and images go."""
        for program in self.programs:
            if program.log.exists() and program.log.parent != self.folder("logs"):
                shutil.copy(program.log, self.folder("logs"))
        for path in self.directory.glob("*"):
            if path.is_dir() and path.name not in _KEPT:
                shutil.rmtree(path)
        self._record.unlink(missing_ok=True)

    def _write_down(self) -> None:
        records = [
            {
                "name": p.name,
                "pid": p.identity.pid,
                "started": p.identity.started,
                "log": str(p.log),
            }
            for p in self.programs
        ]
        self._record.write_text(json.dumps(records))

    @property
    def _record(self) -> Path:
        return self.directory / "programs.json"
