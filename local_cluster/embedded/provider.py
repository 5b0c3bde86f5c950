"""The embedded provider: a whole cluster out of programs on this machine, without Docker.

Steps and their order are here; how each is done is in the modules beside it.
"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from local_cluster import kubectl, process, simulated, tools
from local_cluster.control_plane import ControlPlane, Network
from local_cluster.embedded import containerd, dns, images, network, sweep
from local_cluster.embedded.node import PRIVATE_FOLDERS, Node, name_of, network_prefix
from local_cluster.embedded.place import Place, Shape
from local_cluster.errors import ClusterError
from local_cluster.provider import BadPlan, Cluster, ClusterPlan, NodeStatus, Report, Status

API_PORT = 6443
_NODES_READY_SECONDS = 90
_ACCOUNT_SECONDS = 30
_NEEDED_FREE_BYTES = 2 * 1024**3
_SYSTEM_PROGRAMS = ("containerd", "ctr", "runc", "ip", "iptables", "nsenter", "unshare", "sysctl")
_CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
_NODE = ("kubelet", "kube-proxy", "coredns", "pause")
_CLIENT_LIMITS = ("--kube-api-qps=1000", "--kube-api-burst=2000")


@dataclass(frozen=True, slots=True)
class EmbeddedProvider:
    """Makes clusters below one folder."""

    clusters: Path | None = None
    """Where the clusters' folders are; None: below XDG_STATE_HOME."""

    def up(self, plan: ClusterPlan, report: Report) -> Cluster:
        """Make the cluster; a half-made one is removed first, a complete one is left alone."""
        _check_version(plan)
        place = self._place(plan.name)
        with place.locked():
            plan = _possible_here(plan, report)
            wanted = Shape(plan.nodes, plan.simulated_nodes, None)
            if (found := _as_wanted(place, wanted)) is not None:
                report(f"cluster {plan.name} is up already")
                return found
            if sweep.Traces.look(place):
                report(f"removing what is left of an earlier cluster {plan.name}")
                sweep.remove(place)
            _check_machine(plan, place)
            try:
                return _Making(place, plan, report).make()
            except ClusterError:
                report("half-made: `levelset cluster up` tries again, `down` removes it")
                raise

    def down(self, name: str, report: Report) -> None:
        """Remove the cluster, its processes, links, mounts, cgroups and files."""
        place = self._place(name)
        with place.locked():
            if not sweep.Traces.look(place):
                report(f"there is no cluster {name}")
                return
            started = time.monotonic()
            sweep.remove(place)
            report(f"cluster {name} is gone ({time.monotonic() - started:.1f} s)")

    def status(self, name: str) -> Status:
        """Tell whether the cluster is up, half-made or absent."""
        place = self._place(name)
        if not sweep.Traces.look(place):
            return Status(name, "embedded", "absent")
        dead = [each for each, identity in place.programs().items() if not identity.is_alive()]
        shape = place.shape()
        if shape is None or not shape.is_complete or dead:
            details = [f"{each} does not run" for each in dead]
            advice = f"`levelset cluster up --name {name}` repairs it"
            return Status(name, "embedded", "half-made", (*details, advice))
        cluster = _described(place, shape)
        nodes = [_node_line(each) for each in cluster.nodes]
        return Status(name, "embedded", "up", (f"server {cluster.server}", *nodes), cluster)

    def load_image(self, name: str, image: Path, report: Report) -> None:
        """Import a docker archive, an OCI archive or a folder in OCI layout into every node."""
        place = self._place(name)
        shape = _complete_shape(place)
        with images.as_archive(image) as archive:
            for node in range(1, shape.nodes + 1):
                containerd.import_image(place.node_directory(node), archive)
                report(f"{image} is on {name_of(place, node)}")

    def kubeconfig(self, name: str) -> Path:
        """Tell where the administrator's kubeconfig is; ClusterError if the cluster is not up."""
        place = self._place(name)
        _complete_shape(place)
        return place.kubeconfig

    def allow_http_registry(self, name: str, registry: str) -> None:
        """Let the nodes pull from a registry ("198.18.0.1:5000") by plain http, from now on."""
        containerd.allow_http(self._place(name).registries, registry)

    def _place(self, name: str) -> Place:
        return Place.of(name, self.clusters)


@dataclass(slots=True)
class _Making:
    """One run of `up`, from nothing to a complete cluster."""

    place: Place
    plan: ClusterPlan
    report: Report

    def make(self) -> Cluster:
        self.place.directory.mkdir(mode=0o700, parents=True)
        self.place.registries.mkdir()
        shape = Shape(self.plan.nodes, self.plan.simulated_nodes, None)
        self.place.save(shape)
        started = time.monotonic()
        plane, shape = self._with_nodes(shape) if self.plan.nodes else self._on_loopback(shape)
        self._add_simulated_nodes(plane)
        self._wait_for_account(plane)
        self.place.save(replace(shape, server=plane.server, is_complete=True))
        self.report(f"cluster {self.plan.name} is up ({time.monotonic() - started:.1f} s)")
        return _described(self.place, replace(shape, server=plane.server))

    def _on_loopback(self, shape: Shape) -> tuple[ControlPlane, Shape]:
        return self._start_control_plane(Network()), shape

    def _with_nodes(self, shape: Shape) -> tuple[ControlPlane, Shape]:
        with self._step("network"):
            addresses = network.make_bridge(self.place)
        shape = replace(shape, network=addresses.number)
        self.place.save(shape)
        count = self.plan.nodes
        with self._step("namespaces"):
            make = (Node.make(self.place, n, count, addresses) for n in range(1, count + 1))
            nodes = list(make)
        inside = Network(nodes[0].address, nodes[0].network_prefix(), API_PORT)
        with ThreadPoolExecutor(count + 1) as pool:
            pause = images.pause(self.place.directory / "pause.tar")
            runtimes = [pool.submit(node.start_containerd, pause) for node in nodes]
            plane = self._start_control_plane(inside)
            with self._step("containerd"):
                for runtime in runtimes:
                    runtime.result()
            with self._step("kubelet and kube-proxy"):
                self._start_kubelets(plane, nodes)
            with self._step("CoreDNS"):
                dns.start(plane, address=nodes[0].address, host_address=addresses.host)
        with self._step(f"{count} nodes Ready"):
            self._wait_for_nodes(plane, count)
        return plane, shape

    def _start_control_plane(self, network_of: Network) -> ControlPlane:
        with self._step("etcd and kube-apiserver"):
            plane = ControlPlane.start(
                self.place.directory / "control-plane",
                network=network_of,
                dies_with_parent=False,
                environment=self.place.marker,
                on_start=self.place.note,
            )
        plane.start_controllers(flags=_CLIENT_LIMITS)
        plane.start_scheduler(flags=_CLIENT_LIMITS)
        return plane

    def _start_kubelets(self, plane: ControlPlane, nodes: list[Node]) -> None:
        proxy = plane.user("system:kube-proxy")
        for node in nodes:
            node.start_kubelet(plane)
            node.start_proxy(proxy)

    def _wait_for_nodes(self, plane: ControlPlane, count: int) -> None:
        deadline = time.monotonic() + _NODES_READY_SECONDS
        while sum(each.is_ready for each in _nodes(plane.kubeconfig)) < count:
            self._check_programs()
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"{count} nodes were not Ready within {_NODES_READY_SECONDS} s;"
                    f" {self.place.directory}/node*/kubelet.log may say why"
                )
            time.sleep(0.2)

    def _wait_for_account(self, plane: ControlPlane) -> None:
        """A cluster is up when a pod may be made in it, and pods need their service account."""
        run = kubectl.Kubectl(plane.kubeconfig)
        deadline = time.monotonic() + _ACCOUNT_SECONDS
        while run("get", "serviceaccount", "default", check=False).returncode:
            self._check_programs()
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"no default service account within {_ACCOUNT_SECONDS} s;"
                    f" {plane.directory}/kube-controller-manager.log may say why"
                )
            time.sleep(0.1)

    def _check_programs(self) -> None:
        for name, identity in self.place.programs().items():
            if not identity.is_alive():
                logs = sorted(self.place.directory.rglob(f"{name.rpartition('node')[2][2:]}.log"))
                words = process.log_tail(logs[0]) if logs else ""
                raise ClusterError(f"{name} has ended: {words}")

    def _add_simulated_nodes(self, plane: ControlPlane) -> None:
        if not self.plan.simulated_nodes:
            return
        with self._step(f"{self.plan.simulated_nodes} simulated nodes Ready"):
            simulated.start(plane)
            names = list(simulated.names(self.plan.simulated_nodes))
            simulated.add_nodes(plane.kubeconfig, names, only_tolerating=self.plan.nodes > 0)

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        started = time.monotonic()
        yield
        self.report(f"{what} ({time.monotonic() - started:.1f} s)")


def _check_version(plan: ClusterPlan) -> None:
    pinned = tools.program("kube-apiserver").version
    if plan.kubernetes_version not in {None, pinned, pinned.removeprefix("v")}:
        raise BadPlan(f"Kubernetes {plan.kubernetes_version} is not pinned here; there is {pinned}")


def _possible_here(plan: ClusterPlan, report: Report) -> ClusterPlan:
    """Turn real nodes into simulated ones where this machine cannot have real ones."""
    if not plan.nodes or (reason := why_no_real_nodes()) is None:
        return plan
    report(f"{reason}: going on with simulated nodes, whose pods do not run")
    return replace(plan, nodes=0, simulated_nodes=max(plan.nodes, plan.simulated_nodes))


def why_no_real_nodes() -> str | None:
    """Tell what this machine lacks for real nodes; None if they can be had."""
    if os.geteuid() != 0:
        return "real nodes need root"
    missing = [name for name in _SYSTEM_PROGRAMS if shutil.which(name) is None]
    if not containerd.PLUGINS.is_dir():
        missing.append("the CNI plugins")
    if missing:
        return f"real nodes need {', '.join(missing)} (`levelset tools install --for demo`)"
    return None


def _check_machine(plan: ClusterPlan, place: Place) -> None:
    hidden = [each for each in PRIVATE_FOLDERS if place.directory.is_relative_to(each)]
    if plan.nodes and hidden:
        raise ClusterError(
            f"{place.directory} is below {hidden[0]}, which every node has for itself:"
            " set XDG_STATE_HOME to another folder"
        )
    longest = containerd.longest_socket(place.node_directory(plan.nodes))
    if plan.nodes and len(os.fsencode(longest)) > containerd.MOST_SOCKET_BYTES:
        raise ClusterError(
            f"{longest}: expected at most {containerd.MOST_SOCKET_BYTES} bytes for containerd's"
            f" socket, found {len(os.fsencode(longest))}; set XDG_STATE_HOME to a shorter folder"
        )
    needed = [*_CONTROL_PLANE, *(_NODE if plan.nodes else ())]
    for name in [*needed, *(["kwok"] if plan.simulated_nodes else [])]:
        tools.find(name)
    free = shutil.disk_usage(place.directory.parent).free
    if free < _NEEDED_FREE_BYTES:
        raise ClusterError(
            f"{place.directory.parent}: expected 2 GiB free, found {free / 1024**3:.1f} GiB;"
            " XDG_STATE_HOME chooses another place"
        )


def _as_wanted(place: Place, wanted: Shape) -> Cluster | None:
    shape = place.shape()
    if shape is None or not shape.is_complete:
        return None
    if not all(identity.is_alive() for identity in place.programs().values()):
        return None
    if (shape.nodes, shape.simulated_nodes) != (wanted.nodes, wanted.simulated_nodes):
        raise BadPlan(
            f"cluster {place.name} is up with {shape.nodes} nodes and {shape.simulated_nodes}"
            f" simulated ones: `levelset cluster down --name {place.name}` first"
        )
    return _described(place, shape)


def _complete_shape(place: Place) -> Shape:
    shape = place.shape()
    if shape is None or not shape.is_complete:
        advice = f"`levelset cluster up --name {place.name}`"
        raise ClusterError(f"cluster {place.name} is not up: {advice}")
    return shape


def _described(place: Place, shape: Shape) -> Cluster:
    host = network.Addresses(shape.network).host if shape.network is not None else "127.0.0.1"
    programs = place.programs()
    commands = {
        name_of(place, number): network_prefix(programs[f"{name_of(place, number)}-namespaces"])
        for number in range(1, shape.nodes + 1)
    }
    nodes = tuple(_nodes(place.kubeconfig))
    return Cluster(place.name, place.kubeconfig, shape.server, host, nodes, commands)


def _nodes(kubeconfig: Path) -> Iterator[NodeStatus]:
    answer = kubectl.Kubectl(kubeconfig)("get", "nodes", "-o", "json").stdout
    for node in json.loads(answer)["items"]:
        status = node.get("status", {})
        addresses = {each["type"]: each["address"] for each in status.get("addresses", [])}
        is_ready = any(
            each["type"] == "Ready" and each["status"] == "True"
            for each in status.get("conditions", [])
        )
        yield NodeStatus(node["metadata"]["name"], addresses.get("InternalIP", ""), is_ready)


def _node_line(node: NodeStatus) -> str:
    return f"node {node.name} {node.address or '-'} {'Ready' if node.is_ready else 'NotReady'}"
