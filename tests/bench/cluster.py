"""The cluster that the controllers are measured on: everything but the controllers that are measured."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kube_runtime.api import ApiClient
from local_cluster import kubectl, simulated
from local_cluster.control_plane import ControlPlane
from tests.bench.calls import AuditLog
from tests.bench.contenders import CONTROLLERS, ROOT

NAMESPACE = "bench"
_FAST = ("--kube-api-qps=1000", "--kube-api-burst=2000")


@dataclass(frozen=True)
class Cluster:
    """A running control plane with simulated nodes, and the log of the contenders' requests."""

    plane: ControlPlane
    calls: AuditLog


@contextmanager
def cluster(directory: Path, *, nodes: int = 10) -> Iterator[Cluster]:
    """Start it, with room for 250 pods a node; without nodes pods stay Pending for ever."""
    calls = AuditLog(directory / "audit.log")
    plane = ControlPlane.start(directory / "plane", api_flags=calls.flags())
    try:
        others = [f"-{name}" for name in CONTROLLERS]
        plane.start_controllers(["*", *others], flags=_FAST)
        run = kubectl.Kubectl(plane.kubeconfig)
        run("apply", "--server-side", "-f", ROOT / "deploy" / "crds")
        run("wait", "--for=condition=Established", "--timeout=60s", "-f", ROOT / "deploy" / "crds")
        run("create", "namespace", NAMESPACE)
        run("create", "serviceaccount", "default", "-n", NAMESPACE, check=False)
        if nodes:
            plane.start_scheduler(flags=_FAST)
            simulated.start(plane)
            simulated.add_nodes(plane.kubeconfig, list(simulated.names(nodes)))
        yield Cluster(plane, calls)
    finally:
        plane.stop()
        shutil.rmtree(directory / "plane" / "etcd", ignore_errors=True)


async def administrator(plane: ControlPlane) -> ApiClient:
    """Connect as the one who gives the orders, without limits that matter."""
    return await ApiClient.connect(
        kubeconfig=str(plane.kubeconfig), user_agent="levelset-bench", qps=5000, burst=5000
    )
