"""Step: the git server, the image registry and Prometheus, where the cluster can reach them."""

from dataclasses import dataclass
from pathlib import Path

from levelset.demo.narrator import Step
from levelset.demo.stage import CLUSTER, Stage
from local_cluster.embedded import EmbeddedProvider
from local_cluster.provider import Cluster
from local_cluster.services.git_server import GitServer
from local_cluster.services.prometheus import Prometheus
from local_cluster.services.registry import Registry


@dataclass(frozen=True, slots=True)
class Services:
    """What stands around the cluster."""

    git: GitServer
    registry: Registry
    prometheus: Prometheus


async def start(stage: Stage, cluster: Cluster, step: Step) -> Services:
    """Start all three on the address by which the cluster knows this machine."""
    host, leashed = cluster.host_address, not stage.keep

    def folder(name: str) -> Path:
        return stage.folder(name)

    git = await GitServer.launch(folder("git"), host=host, dies_with_parent=leashed)
    stage.started(git.program)
    step.fact("git server", f"{git.url}  (smart HTTP, basic authentication)")
    registry = await Registry.launch(folder("registry"), host=host, dies_with_parent=leashed)
    stage.started(registry.program)
    EmbeddedProvider().allow_http_registry(CLUSTER, registry.address)
    step.fact("registry", registry.url)
    prometheus = await Prometheus.launch(folder("prometheus"), host=host, dies_with_parent=leashed)
    stage.started(prometheus.program)
    step.fact("Prometheus", prometheus.url)
    step.summary = "git, registry and Prometheus answer"
    return Services(git, registry, prometheus)
