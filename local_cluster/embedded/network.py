"""The network of one embedded cluster: a bridge on the host, a cable to every node.

Addresses come from 198.18.0.0/15, which is set aside for tests and routed nowhere.
The host's firewall and forwarding are left alone; everything else is inside the nodes' namespaces.
"""

import contextlib
import ipaddress
import json
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from local_cluster.embedded.place import Place
from local_cluster.errors import ClusterError

_RANGE = ipaddress.ip_network("198.18.0.0/15")
PODS = "10.244.0.0/16"
_FIRST_NODE = 10
_LOCK_SECONDS = 30
_GONE_SECONDS = 10


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of a cluster, from the number of its /24."""

    number: int

    @property
    def subnet(self) -> ipaddress.IPv4Network:
        """The nodes' network."""
        return list(_subnets())[self.number]

    @property
    def host(self) -> str:
        """The bridge's own address: this machine, as the cluster sees it."""
        return str(self.subnet[1])

    def node(self, node: int) -> str:
        """A node's address; nodes count from 1."""
        return str(self.subnet[_FIRST_NODE + node])

    def pods(self, node: int) -> str:
        """A node's range of pods; only known inside the cluster, so every cluster has the same."""
        return f"10.244.{node}.0/24"


def make_bridge(place: Place) -> Addresses:
    """Choose a free /24 and give it to a new bridge."""
    with _choosing():
        addresses = Addresses(_free_number())
        ip("link", "add", place.bridge, "type", "bridge")
        ip("addr", "add", f"{addresses.host}/24", "dev", place.bridge)
        ip("link", "set", place.bridge, "up")
    return addresses


def connect(place: Place, addresses: Addresses, node: int, nodes: int, *, pid: int) -> None:
    """Join the namespace of a process to the bridge and give it routes to all pods."""
    link, inside = place.link(node), ("nsenter", f"--net=/proc/{pid}/ns/net")
    ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(pid))
    ip("link", "set", link, "master", place.bridge, "up")
    others = [other for other in range(1, nodes + 1) if other != node]
    batch = [
        f"addr add {addresses.node(node)}/24 dev eth0",
        "link set lo up",
        "link set eth0 up",
        f"route add default via {addresses.host}",
        *(f"route add {addresses.pods(each)} via {addresses.node(each)}" for each in others),
    ]
    ip("-batch", "-", prefix=inside, stdin="\n".join(batch))
    run(*inside, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    # A pod's address means nothing outside of the cluster; towards the host it is its node's.
    rule = ["-s", PODS, "!", "-d", PODS, "-j", "MASQUERADE"]
    run(*inside, "iptables", "-w", "-t", "nat", "-A", "POSTROUTING", *rule)


def links_of(place: Place) -> list[str]:
    """List the links of the cluster that are on the host."""
    prefixes = (place.bridge, f"lv{place.short}n")
    return [name for name in _links() if name.startswith(prefixes)]


def remove(place: Place) -> None:
    """Remove the cluster's links and wait until they are gone; the namespaces end by themselves."""
    deadline = time.monotonic() + _GONE_SECONDS
    while links := links_of(place):
        for link in links:
            with contextlib.suppress(ClusterError):  # it may end at this moment by itself
                ip("link", "del", link)
        if time.monotonic() > deadline:
            raise ClusterError(f"link {links[0]} does not go away; try `ip link del {links[0]}`")


def ip(*arguments: str, prefix: Sequence[str] = (), stdin: str | None = None) -> str:
    """Run iproute2's ip."""
    return run(*prefix, "ip", *arguments, stdin=stdin)


def run(*command: str, stdin: str | None = None, timeout_seconds: float = 20.0) -> str:
    """Run a short command of the system and return its output; ClusterError with its words."""
    shown = " ".join(command)[:200]
    try:
        done = subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_seconds,
            check=False,
        )
    except FileNotFoundError:
        raise ClusterError(
            f"{command[0]} is not on PATH; `levelset tools install --for demo` installs it"
        ) from None
    except subprocess.TimeoutExpired:
        raise ClusterError(f"{shown}: no end within {timeout_seconds:.0f} s") from None
    if done.returncode:
        raise ClusterError(f"{shown}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def _subnets() -> Iterator[ipaddress.IPv4Network]:
    for subnet in _RANGE.subnets(new_prefix=24):
        yield ipaddress.IPv4Network(subnet)


def _free_number() -> int:
    taken = list(_networks_in_use())
    for number, subnet in enumerate(_subnets()):
        if not any(subnet.overlaps(other) for other in taken):
            return number
    raise ClusterError(f"no free /24 in {_RANGE}: `ip route` shows who has them")


def _networks_in_use() -> Iterator[ipaddress.IPv4Network]:
    for route in json.loads(ip("-json", "-4", "route", "show", "table", "all") or "[]"):
        if route["dst"] != "default":
            yield ipaddress.IPv4Network(route["dst"], strict=False)


def _links() -> list[str]:
    return [link["ifname"] for link in json.loads(ip("-json", "link", "show") or "[]")]


@contextlib.contextmanager
def _choosing() -> Iterator[None]:
    """Keep two clusters from choosing the same network, whatever their state folders.

    An abstract socket belongs to the network namespace and goes with its process.
    """
    deadline = time.monotonic() + _LOCK_SECONDS
    with socket.socket(socket.AF_UNIX) as lock:
        while True:
            try:
                lock.bind("\0levelset-network")
            except OSError:
                if time.monotonic() > deadline:
                    raise ClusterError(
                        "another cluster has been choosing its network for 30 s"
                    ) from None
                time.sleep(0.05)
            else:
                break
        yield
