"""What every way to a cluster offers, and what it is asked for.

The command line and the demo know clusters by this protocol alone; `embedded` and `existing`
implement it, and `kind` will.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from local_cluster.errors import ClusterError

DEFAULT_NAME = "levelset"
MAX_NODES = 50
Report = Callable[[str], None]


class BadPlan(ClusterError):  # noqa: N818 - reads as what happened
    """A cluster was asked for that cannot be made; nothing has been touched."""

    reason = "BadPlan"


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """The cluster that is asked for."""

    name: str = DEFAULT_NAME
    nodes: int = 3
    """Real nodes: kubelet, containerd and pods that run."""
    simulated_nodes: int = 0
    """Nodes whose pods become Ready without running."""
    kubernetes_version: str | None = None
    """None: the pinned one."""

    def __post_init__(self) -> None:
        for label, number in (("nodes", self.nodes), ("simulated nodes", self.simulated_nodes)):
            if number < 0:
                raise BadPlan(f"{label}: expected 0 or more, found {number}")
        if self.nodes > MAX_NODES:
            raise BadPlan(f"nodes: expected at most {MAX_NODES}, found {self.nodes}")


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node as the cluster knows it."""

    name: str
    address: str
    is_ready: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster that is up."""

    name: str
    kubeconfig: Path
    server: str
    host_address: str
    """Where pods, the API server and containerd reach a program on this machine."""
    nodes: tuple[NodeStatus, ...] = ()
    commands: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Per real node: a prefix that runs a command in its network."""


@dataclass(frozen=True, slots=True)
class Status:
    """How a cluster is, in words for a person."""

    name: str
    provider: str
    state: str
    """up, half-made or absent."""
    details: tuple[str, ...] = ()
    cluster: Cluster | None = None


class Provider(Protocol):
    """A way to have a cluster."""

    def up(self, plan: ClusterPlan, report: Report) -> Cluster:
        """Make the cluster, or repair it, or leave it if it is as asked for."""

    def down(self, name: str, report: Report) -> None:
        """Take everything away that belongs to the cluster; also if there is none."""

    def status(self, name: str) -> Status:
        """Look at the cluster and change nothing."""

    def load_image(self, name: str, image: Path, report: Report) -> None:
        """Put an image archive, or a folder in OCI layout, onto every real node."""

    def kubeconfig(self, name: str) -> Path:
        """Tell where the administrator's kubeconfig is."""
