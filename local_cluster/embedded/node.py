"""One real node: namespaces of its own, containerd, the kubelet and kube-proxy.

A process that only sleeps holds the namespaces. Mounts and links made inside go with the last
process of the node, so that nothing is left of one that was killed at any moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from local_cluster import process, tools
from local_cluster.control_plane import ControlPlane
from local_cluster.embedded import cgroups, containerd, kubelet, network
from local_cluster.embedded.place import Place
from local_cluster.errors import ClusterError

_READY_SECONDS = 30
# Folders that containerd, runc, CNI and the kubelet use whatever their configuration says.
# Each node has its own; /run hides the host's sockets and locks from it, too.
PRIVATE_FOLDERS = ("/run", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers")
_HOLD = """\
mount --no-mtab --make-rshared /
ready=$1; names=$2; shift 2
for folder; do mkdir -p "$folder"; mount --no-mtab -t tmpfs -o mode=755 levelset "$folder"; done
file=$(readlink -m /etc/resolv.conf)
case "$file" in /run/*) mkdir -p "${file%/*}"; : > "$file" ;; esac
if [ -e "$file" ]; then mount --no-mtab --bind "$names" "$file"; fi
: > "$ready"
exec sleep infinity
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A node whose namespaces are there; its programs come one after the other."""

    place: Place
    number: int
    addresses: network.Addresses
    holder: process.Program

    @property
    def name(self) -> str:
        """The name that the API server knows."""
        return name_of(self.place, self.number)

    @property
    def directory(self) -> Path:
        """What the node keeps."""
        return self.place.node_directory(self.number)

    @property
    def address(self) -> str:
        """The node's address on the bridge."""
        return self.addresses.node(self.number)

    @classmethod
    def make(cls, place: Place, number: int, count: int, addresses: network.Addresses) -> "Node":
        """Make the namespaces and join them to the bridge."""
        directory = place.node_directory(number)
        directory.mkdir(mode=0o700)
        ready = directory / "namespaces-ready"
        # The host's name servers are out of reach from here: every failed pull would wait for them.
        names = kubelet.write_resolver(directory, addresses.node(1))
        command = ["unshare", "--mount", "--net", "--propagation=slave", "sh", "-ec", _HOLD]
        holder = process.Program.start(
            f"{name_of(place, number)}-namespaces",
            [*command, "hold", ready, names, *PRIVATE_FOLDERS],
            log=directory / "namespaces.log",
            environment=place.marker,
        )
        place.note(holder)
        holder.wait_ready(ready.exists, timeout_seconds=_READY_SECONDS)
        network.connect(place, addresses, number, count, pid=holder.identity.pid)
        return cls(place, number, addresses, holder)

    def network_prefix(self) -> tuple[str, ...]:
        """A command that runs another in the node's network only."""
        return network_prefix(self.holder.identity)

    def start_containerd(self, pause: Path) -> None:
        """Start containerd and give it the pause image."""
        configuration = containerd.write_configuration(
            self.directory,
            pods=self.addresses.pods(self.number),
            registries=self.place.registries,
        )
        program = self._start("containerd", ["containerd", "--config", configuration])
        program.wait_ready(self._containerd_answers, timeout_seconds=_READY_SECONDS)
        containerd.import_image(self.directory, pause)

    def start_kubelet(self, plane: ControlPlane) -> None:
        """Start the kubelet and kube-proxy."""
        hierarchies = cgroups.Hierarchies.look()
        serving = plane.authority.issue(
            f"{self.name}-serving", common_name=self.name, hosts=[self.name, self.address]
        )
        configuration = kubelet.write_configuration(
            self.directory,
            authority=plane.authority.certificate,
            serving=serving,
            cgroup=cgroups.make(self.place, self.number),
            is_cgroup_v2=hierarchies.is_v2,
        )
        credentials = plane.user(f"system:node:{self.name}", ["system:nodes"])
        self._start(
            "kubelet",
            [
                tools.find("kubelet"),
                f"--config={configuration}",
                f"--kubeconfig={credentials}",
                f"--hostname-override={self.name}",
                f"--node-ip={self.address}",
                f"--root-dir={self.directory / 'kubelet'}",
            ],
        )

    def start_proxy(self, kubeconfig: Path) -> None:
        """Start kube-proxy."""
        configuration = kubelet.write_proxy_configuration(
            self.directory, node_name=self.name, kubeconfig=kubeconfig
        )
        self._start("kube-proxy", [tools.find("kube-proxy"), f"--config={configuration}"])

    def _start(self, what: str, argv: Sequence[str | Path]) -> process.Program:
        pid = self.holder.identity.pid
        program = process.Program.start(
            f"{self.name}-{what}",
            argv,
            log=self.directory / f"{what}.log",
            prefix=("nsenter", f"--target={pid}", "--mount", "--net"),
            environment=self.place.marker,
        )
        self.place.note(program)
        return program

    def _containerd_answers(self) -> bool:
        if not containerd.socket(self.directory).exists():
            return False
        try:
            network.run("ctr", f"--address={containerd.socket(self.directory)}", "version")
        except ClusterError:
            return False
        return True


def name_of(place: Place, number: int) -> str:
    """Name a node."""
    return f"{place.name}-node{number}"


def network_prefix(holder: process.Identity) -> tuple[str, ...]:
    """A command that runs another one in the network of a node's holder."""
    return ("nsenter", f"--net=/proc/{holder.pid}/ns/net")
