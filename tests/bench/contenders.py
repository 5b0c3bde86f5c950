"""A process under measurement: its CPU seconds and memory, and the two that make pods.

The built-in contender is a kube-controller-manager that runs the ReplicaSet controller alone; ours
is `python -m workloads`. Both work on the same cluster, one at a time.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kube_runtime.api import ApiClient
from kube_runtime.errors import NotFound
from kube_runtime.resource import LEASES, REPLICA_SETS, Json, Resource
from local_cluster import process
from local_cluster.control_plane import ControlPlane
from workloads.names import PODSETS

ROOT = Path(__file__).parents[2]
_TICKS = os.sysconf("SC_CLK_TCK")
# Both read as much as they write; neither is to be held back by its own client.
FAST_BUILTIN = ("--kube-api-qps=1000", "--kube-api-burst=2000")
FAST_OURS = ("--qps=1000", "--burst=2000")


@dataclass(frozen=True)
class Measured:
    """A running program, by its pid."""

    pid: int

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_mb(self) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f"no VmRSS of {self.pid}")


@dataclass(frozen=True)
class Contender:
    """Who makes the pods, of which kind of object."""

    name: str
    resource: Resource
    flags: tuple[str, ...]

    def object(self, name: str, replicas: int) -> Json:
        """Build the object that wants so many pods, the same template for all."""
        labels = {"app": name}
        containers = [
            {
                "name": "web",
                "image": "registry.example/web:1.0.0",
                "ports": [{"containerPort": 8080}],
                "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
                "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
            }
        ]
        return {
            "apiVersion": self.resource.api_version,
            "kind": self.resource.kind,
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            },
        }


OURS = Contender("ours", PODSETS, FAST_OURS)
BUILTIN = Contender("builtin", REPLICA_SETS, FAST_BUILTIN)
BUILTIN_DEFAULT = Contender("builtin_default_limits", REPLICA_SETS, ())


@asynccontextmanager
async def running(
    contender: Contender, plane: ControlPlane, api: ApiClient, namespace: str
) -> AsyncIterator[Measured]:
    """Run a contender until the end of the block; it is idle and ready when the block begins."""
    if contender is OURS:
        program = start_ours(plane, namespace, *contender.flags)
        await _until_leading(api, program, namespace)
    else:
        program = plane.start_controllers(["replicaset-controller"], flags=contender.flags)
    try:
        await _until_idle(program)
        yield Measured(program.identity.pid)
    finally:
        process.stop([program])


def start_ours(plane: ControlPlane, namespace: str, *flags: str) -> process.Program:
    """Start our controllers for the whole cluster."""
    return process.Program.start(
        "workloads",
        [
            sys.executable,
            "-m",
            "workloads",
            f"--kubeconfig={plane.kubeconfig}",
            f"--namespace={namespace}",
            "--metrics-host=127.0.0.1",
            "--metrics-port=0",
            "--insecure-metrics",
            "--lease-seconds=3",
            "--renew-seconds=2",
            "--retry-seconds=0.5",
            *flags,
        ],
        log=plane.directory / "workloads.log",
        environment={"PYTHONPATH": f"{ROOT / 'operator'}{os.pathsep}{ROOT}"},
        dies_with_parent=True,
    )


async def _until_leading(api: ApiClient, program: process.Program, namespace: str) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        program.check()
        try:
            lease = await api.get(LEASES, "levelset-workloads", namespace=namespace)
        except NotFound:
            lease = {"spec": {}}
        if lease["spec"].get("holderIdentity"):
            return
        await asyncio.sleep(0.1)
    program.raise_failure("did not take the lease within 60 s")


async def _until_idle(program: process.Program) -> None:
    """Wait until it has used no more than a twentieth of a CPU for a second."""
    measured, end = Measured(program.identity.pid), time.monotonic() + 60
    while time.monotonic() < end:
        before = measured.cpu_seconds()
        await asyncio.sleep(1)
        program.check()
        if measured.cpu_seconds() - before <= 0.05:
            return
    program.raise_failure("did not come to rest within 60 s")
