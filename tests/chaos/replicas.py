"""The controllers as they run in pods: processes that can be killed, frozen and told apart.

Which of them leads is read from the Lease: its holder's identity stands in the log of one process.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kube_runtime.api import ApiClient
from kube_runtime.errors import Conflict, KubeError, NotFound
from kube_runtime.resource import LEASES, resource_version_of
from local_cluster import process
from local_cluster.process import Program

ROOT = Path(__file__).parents[2]
LEASE = "levelset-workloads"
_LEADER_SECONDS = 60.0
_FLAGS = (
    "--metrics-host=127.0.0.1",
    "--metrics-port=0",
    "--insecure-metrics",
    "--lease-seconds=3",
    "--renew-seconds=2",
    "--retry-seconds=0.4",
)


@dataclass
class Replicas:
    """The controller processes of one namespace, each by the kubeconfig it was given."""

    api: ApiClient
    namespace: str
    directory: Path
    running: dict[Program, Path] = field(default_factory=dict)
    started: int = 0

    def start(self, kubeconfig: Path) -> Program:
        """Start one more; it leads when the Lease is free."""
        self.started += 1
        program = Program.start(
            "workloads",
            [
                sys.executable,
                "-m",
                "workloads",
                f"--kubeconfig={kubeconfig}",
                f"--watch-namespace={self.namespace}",
                f"--namespace={self.namespace}",
                *_FLAGS,
            ],
            log=self.directory / f"workloads-{self.started}.log",
            environment={"PYTHONPATH": f"{ROOT / 'operator'}{os.pathsep}{ROOT}"},
            dies_with_parent=True,
        )
        self.running[program] = kubeconfig
        return program

    async def leader(self, *, but: Sequence[Program] = ()) -> Program:
        """Wait until one of them holds the Lease, other than those that are not meant."""
        end = asyncio.get_running_loop().time() + _LEADER_SECONDS
        while True:
            holder = await self.holder()
            for program in self.running:
                if holder and program not in but and holder in program.log.read_text():
                    return program
            for program in self.running:
                program.check()
            assert asyncio.get_running_loop().time() < end, f"no leader: {holder!r} has the lease"
            await asyncio.sleep(0.05)

    async def holder(self) -> str:
        """Read who has the Lease; "" when nobody has or when it cannot be read."""
        try:
            lease = await self.api.get(LEASES, LEASE, namespace=self.namespace)
        except KubeError:
            return ""
        holder: str = lease["spec"].get("holderIdentity") or ""
        return holder

    async def kill(self, program: Program) -> Path:
        """Kill one without a warning; tell which kubeconfig it had."""
        return await self._end(program, signal.SIGKILL)

    async def stop(self, program: Program) -> Path:
        """End one in good order; tell which kubeconfig it had."""
        return await self._end(program, signal.SIGTERM)

    async def bury(self, dead: Sequence[Program]) -> None:
        """Take the Lease from the dead, as an administrator may who knows that they are.

        Only from them: somebody who lives and lost it would not know at once.
        """
        try:
            lease = await self.api.get(LEASES, LEASE, namespace=self.namespace)
            holder = lease["spec"].get("holderIdentity") or ""
            if holder and any(holder in program.log.read_text() for program in dead):
                version = resource_version_of(lease)
                await self.api.delete(
                    LEASES, LEASE, namespace=self.namespace, resource_version=version
                )
        except (NotFound, Conflict):
            return

    async def _end(self, program: Program, number: signal.Signals) -> Path:
        kubeconfig = self.running.pop(program)
        program.identity.send(number)
        async with asyncio.timeout(30):
            while program.identity.is_alive():  # noqa: ASYNC110 - there is nothing to be woken by
                await asyncio.sleep(0.01)
        return kubeconfig


@asynccontextmanager
async def replicas(
    api: ApiClient, namespace: str, directory: Path, *, kubeconfigs: Sequence[Path]
) -> AsyncIterator[Replicas]:
    """Run a process for each kubeconfig until the end of the block."""
    started = Replicas(api, namespace, directory)
    try:
        for kubeconfig in kubeconfigs:
            started.start(kubeconfig)
        yield started
    finally:
        for program in started.running:
            program.identity.send(signal.SIGCONT)
        process.kill([program.identity for program in started.running])
