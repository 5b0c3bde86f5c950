"""A process under measurement: its CPU seconds and memory, and the two that make pods.

The built-in contender is a kube-controller-manager that runs the ReplicaSet and the Deployment
controller alone; ours is `python -m workloads`. Both work on the same cluster, one at a time.
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
from kube_runtime.resource import DEPLOYMENTS, LEASES, REPLICA_SETS, Json, Resource
from local_cluster import process
from local_cluster.control_plane import ControlPlane
from workloads.names import PODSETS, ROLLOUTS

ROOT = Path(__file__).parents[2]
_TICKS = os.sysconf("SC_CLK_TCK")
# Both read as much as they write; neither is to be held back by its own client.
FAST_BUILTIN = ("--kube-api-qps=1000", "--kube-api-burst=2000")
FAST_OURS = ("--qps=1000", "--burst=2000")
CONTROLLERS = ("replicaset-controller", "deployment-controller")
OUR_USER = "bench-ours"


@dataclass(frozen=True)
class Measured:
    """A running program, by its pid."""

    pid: int

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_mb(self) -> float:
        return self._memory_mb("VmRSS")

    def peak_memory_mb(self) -> float:
        return self._memory_mb("VmHWM")

    def _memory_mb(self, field: str) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f"no {field} of {self.pid}")


@dataclass(frozen=True)
class Contender:
    """Who makes the pods, of which kind of object."""

    name: str
    resource: Resource
    """What makes pods: a PodSet or a ReplicaSet."""
    rollout_resource: Resource
    """What makes those: a Rollout or a Deployment."""
    flags: tuple[str, ...]
    users: tuple[str, ...]
    """Whose requests are its own, in the audit log."""

    @property
    def is_ours(self) -> bool:
        return self.resource == PODSETS

    def object(self, name: str, replicas: int) -> Json:
        """Build the PodSet or ReplicaSet that wants so many pods, the same template for all."""
        return _object(self.resource, name, replicas)

    def rollout(self, name: str, replicas: int) -> Json:
        """Build the Rollout or Deployment that wants so many pods."""
        return _object(self.rollout_resource, name, replicas)


_OUR_USERS = (OUR_USER,)
_BUILTIN_USERS = tuple(f"system:serviceaccount:kube-system:{name}" for name in CONTROLLERS)
OURS = Contender("ours", PODSETS, ROLLOUTS, FAST_OURS, _OUR_USERS)
OURS_DEFAULT = Contender("ours_default_limits", PODSETS, ROLLOUTS, (), _OUR_USERS)
BUILTIN = Contender("builtin", REPLICA_SETS, DEPLOYMENTS, FAST_BUILTIN, _BUILTIN_USERS)
BUILTIN_DEFAULT = Contender("builtin_default_limits", REPLICA_SETS, DEPLOYMENTS, (), _BUILTIN_USERS)


def _object(resource: Resource, name: str, replicas: int) -> Json:
    labels = {"app": name}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": template(name, "1.0.0"),
        },
    }


def template(name: str, tag: str) -> Json:
    """Build the template of all pods under measurement."""
    containers = [
        {
            "name": "web",
            "image": f"registry.example/web:{tag}",
            "ports": [{"containerPort": 8080}],
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
        }
    ]
    return {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers}}


@asynccontextmanager
async def running(
    contender: Contender, plane: ControlPlane, api: ApiClient, namespace: str
) -> AsyncIterator[Measured]:
    """Run a contender until the end of the block; it is idle and ready when the block begins."""
    if contender.is_ours:
        program = start_ours(plane, namespace, *contender.flags)
        await until_leading(api, program, namespace)
    else:
        program = plane.start_controllers(CONTROLLERS, flags=contender.flags)
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
            f"--kubeconfig={_our_kubeconfig(plane)}",
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


def _our_kubeconfig(plane: ControlPlane) -> Path:
    """Make us a user of our own, so that our requests can be told from the bench's; only once."""
    kubeconfig = plane.directory / f"{OUR_USER}.kubeconfig"
    return kubeconfig if kubeconfig.exists() else plane.user(OUR_USER, groups=["system:masters"])


async def until_leading(api: ApiClient, program: process.Program, namespace: str) -> None:
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
