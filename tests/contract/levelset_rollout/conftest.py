"""The console script, run as a user runs it, in a namespace with our controllers."""

import asyncio
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from local_cluster import tools
from tests.contract.workloads.conftest import controlled, live, world

__all__ = ["controlled", "live", "world"]

BIN = Path(sys.executable).parent
SECONDS = 40.0


@dataclass(frozen=True, slots=True)
class Said:
    """How a command ended."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Cli:
    """`levelset`, for one namespace."""

    kubeconfig: Path
    namespace: str
    path: tuple[Path, ...] = field(default=(BIN,))

    async def __call__(self, *words: str, program: str = "levelset") -> Said:
        """Run it to its end; the namespace stands before the words of a command for a pod."""
        at = words.index("--") if "--" in words else len(words)
        return await self.raw(program, *words[:at], "-n", self.namespace, *words[at:])

    async def raw(self, program: str, *words: str) -> Said:
        """Run any program with these words alone, found where a user's shell finds it."""
        done = await asyncio.to_thread(
            subprocess.run,
            [program, *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of a shell with this kubeconfig and PATH."""
        search = os.pathsep.join(map(str, self.path))
        return {
            **os.environ,
            "PATH": search,
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.kubeconfig.parent / "cache"),
        }


@pytest.fixture
def levelset(kubeconfig: Path, namespace: str) -> Cli:
    """The console script, with neither kubectl nor anything else of ours on PATH."""
    return Cli(kubeconfig, namespace)


@pytest.fixture
def with_kubectl(levelset: Cli) -> Cli:
    """The same, with the real kubectl on PATH."""
    return Cli(levelset.kubeconfig, levelset.namespace, (BIN, tools.find("kubectl").parent))
