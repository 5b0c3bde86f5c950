"""One cluster with three real nodes for all node tests, and a small userland to run on it.

Registered as a plugin by tests/conftest.py. Clusters of test runs that were killed are removed
by the next run: their names carry the pid of the run.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local_cluster import images, process
from local_cluster.embedded import EmbeddedProvider, why_no_real_nodes
from local_cluster.errors import ClusterError
from local_cluster.kubectl import Kubectl
from local_cluster.provider import Cluster, ClusterPlan

USERLAND = "levelset.test/userland:1"
_APPLETS = [
    "sh",
    "ls",
    "cat",
    "sleep",
    "httpd",
    "wget",
    "echo",
    "kill",
    "mkdir",
    "hostname",
    "date",
    "nslookup",
    "nc",
    "id",
]
_CLUSTERS = Path(tempfile.gettempdir(), f"levelset-test-clusters-{os.geteuid()}")


@dataclass(frozen=True, slots=True)
class NodeCluster:
    """A cluster with real nodes, and what a test does with it."""

    cluster: Cluster
    provider: EmbeddedProvider
    kubectl: Kubectl

    @property
    def host_address(self) -> str:
        """Where pods, the API server and containerd reach this process."""
        return self.cluster.host_address

    @property
    def kubeconfig(self) -> Path:
        return self.cluster.kubeconfig

    def load_image(self, image: Path) -> None:
        self.provider.load_image(self.cluster.name, image, lambda _: None)

    def allow_http_registry(self, registry: str) -> None:
        self.provider.allow_http_registry(self.cluster.name, registry)

    def run_pods(self, namespace: str, name: str, count: int) -> list[str]:
        """Deploy web servers that answer with their pod's name, behind a Service; all Ready."""
        document = {"apiVersion": "v1", "kind": "List", "items": _web(namespace, name, count)}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(document))
        status = ["rollout", "status", f"deployment/{name}", "-n", namespace, "--timeout=60s"]
        if self.kubectl(*status, timeout_seconds=70, check=False).returncode:
            pods = self.kubectl("describe", "pods", "-n", namespace, "-l", f"app={name}").stdout
            pytest.fail(f"{name} was not ready within 60 s:\n{pods}")
        found = self.kubectl("get", "pods", "-n", namespace, "-l", f"app={name}", "-o", "name")
        return found.stdout.split()


@pytest.fixture(scope="session")
def needs_real_nodes() -> None:
    """Skips where no real node can be had; in CI a skip as root fails the run."""
    if (reason := why_no_real_nodes()) is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def embedded_provider(needs_real_nodes: None) -> EmbeddedProvider:
    """Clusters of the tests' own, never those of the person who runs them."""
    provider = EmbeddedProvider(_CLUSTERS)
    for directory in _CLUSTERS.glob("pytest-*") if _CLUSTERS.is_dir() else ():
        pid = directory.name.split("-")[1]
        if process.Identity.of(int(pid)) is None:
            provider.down(directory.name, lambda _: None)
    return provider


@pytest.fixture(scope="session")
def node_cluster(
    embedded_provider: EmbeddedProvider, userland_archive: Path
) -> Iterator[NodeCluster]:
    """Three real nodes, with the userland image on each."""
    name = f"pytest-{os.getpid()}-shared"
    try:
        cluster = embedded_provider.up(ClusterPlan(name=name, nodes=3), lambda _: None)
        shared = NodeCluster(cluster, embedded_provider, Kubectl(cluster.kubeconfig))
        shared.load_image(userland_archive)
        yield shared
    except ClusterError as error:
        pytest.fail(error.diagnostics(), pytrace=False)
    finally:
        embedded_provider.down(name, lambda _: None)


@pytest.fixture(scope="session")
def userland_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A docker archive of busybox's static build, named USERLAND."""
    archive = tmp_path_factory.mktemp("images") / "userland.tar"
    archive.write_bytes(images.docker_archive(userland(), USERLAND))
    return archive


def userland() -> images.Image:
    """busybox and its most used names, running as root, with a writable /tmp."""
    busybox = images.File("/bin/busybox", Path("/bin/busybox").read_bytes(), mode=0o755)
    links = [images.Symlink(f"/bin/{name}", "busybox") for name in _APPLETS]
    layer: list[images.File | images.Symlink] = [busybox, *links, images.File("/tmp/.keep", b"")]
    return images.build_image(
        [layer], entrypoint=["/bin/sh"], environment={"PATH": "/bin"}, user="0:0"
    )


@pytest.fixture
def node_namespace(node_cluster: NodeCluster) -> Iterator[str]:
    """A namespace of this test alone on the shared nodes."""
    name = f"test-{os.urandom(4).hex()}"
    node_cluster.kubectl("create", "namespace", name)
    yield name
    node_cluster.kubectl("delete", "namespace", name, "--wait=false")


def _web(namespace: str, name: str, count: int) -> list[dict[str, Any]]:
    labels = {"app": name}
    metadata = {"name": name, "namespace": namespace, "labels": labels}
    command = "mkdir -p /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www"
    container = {
        "name": "web",
        "image": USERLAND,
        "command": ["/bin/sh", "-c", f"echo serving; {command}"],
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": labels},
    }
    pod = {
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "topologySpreadConstraints": [spread],
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {
            "replicas": count,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    return [deployment, service]
