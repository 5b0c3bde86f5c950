"""Simulated nodes: Node objects whose pods become Ready without running, played by kwok.

Called by the embedded cluster where there is no root, by load tests, and by the `kwok_nodes`
fixture. Only nodes with our annotation are played; real nodes beside them are left alone.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from local_cluster import kubectl, process
from local_cluster.control_plane import ControlPlane

ANNOTATION = "kwok.x-k8s.io/node"
# Four at a time is kwok's default; a thousand pods then take minutes to become ready.
_CONFIGURATION = """\
apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  podPlayStageParallelism: 32
  nodePlayStageParallelism: 16
  nodeLeaseParallelism: 16
"""
READY_SECONDS = 60


def start(plane: ControlPlane) -> process.Program:
    """Start kwok for the annotated nodes of a cluster."""
    configuration = plane.directory / "kwok.yaml"
    configuration.write_text(_CONFIGURATION)
    return plane.run(
        "kwok",
        f"--kubeconfig={plane.kubeconfig}",
        f"--config={configuration}",
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={ANNOTATION}=fake",
        "--node-lease-duration-seconds=40",
    )


def add_nodes(
    kubeconfig: Path,
    names: Sequence[str],
    *,
    pods_per_node: int = 250,
    only_tolerating: bool = False,
) -> None:
    """Create simulated nodes, or leave them as they are, and wait until all are Ready.

    `only_tolerating`: beside real nodes, only pods that tolerate the taint come here.
    """
    taints = [{"key": ANNOTATION, "value": "fake", "effect": "NoSchedule"}]
    objects = [_node(name, pods_per_node, taints if only_tolerating else []) for name in names]
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    run = kubectl.Kubectl(kubeconfig)
    run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=document)
    paths = [f"node/{name}" for name in names]
    run(
        "wait",
        "--for=condition=Ready",
        f"--timeout={READY_SECONDS}s",
        *paths,
        timeout_seconds=READY_SECONDS + 10,
    )


def names(count: int, prefix: str = "simulated") -> Iterator[str]:
    """Name simulated nodes: simulated-1, simulated-2 and so on."""
    return (f"{prefix}-{number}" for number in range(1, count + 1))


def _node(name: str, pods: int, taints: Sequence[dict[str, str]]) -> dict[str, Any]:
    size = {"cpu": "64", "memory": "256Gi", "pods": str(pods)}
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "type": "simulated"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {ANNOTATION: "fake"}},
        "spec": {"taints": list(taints)},
        "status": {"allocatable": size, "capacity": size},
    }
