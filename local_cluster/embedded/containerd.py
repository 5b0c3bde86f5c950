"""containerd of one node: its configuration, the pods' network, and image imports."""

import json
from pathlib import Path

from local_cluster.embedded.network import run

PAUSE_IMAGE = "registry.levelset.internal/pause:1"
PLUGINS = Path("/usr/lib/cni")
NAMESPACE = "k8s.io"
IMPORT_SECONDS = 120
MOST_SOCKET_BYTES = 104  # containerd refuses a longer path


def socket(directory: Path) -> Path:
    """Tell where a node's containerd listens."""
    return directory / "containerd.sock"


def longest_socket(directory: Path) -> Path:
    """Tell the longest path among the sockets that a node's containerd makes."""
    return socket(directory).with_name("containerd.sock.ttrpc")


def write_configuration(directory: Path, *, pods: str, registries: Path) -> Path:
    """Write what containerd of a node reads, and return the main file."""
    network = directory / "cni"
    network.mkdir(parents=True, exist_ok=True)
    (network / "10-pods.conflist").write_text(json.dumps(_pod_network(directory, pods)))
    file = directory / "containerd.toml"
    file.write_text(_configuration(directory, network, registries))
    return file


def import_image(directory: Path, archive: Path) -> str:
    """Import a docker or OCI archive and return what was said."""
    address = str(socket(directory))
    return run(
        "ctr",
        f"--address={address}",
        f"--namespace={NAMESPACE}",
        "images",
        "import",
        str(archive),
        timeout_seconds=IMPORT_SECONDS,
    )


def allow_http(registries: Path, registry: str) -> None:
    """Let containerd reach a registry ("198.18.0.1:5000") by plain http; read at every pull."""
    directory = registries / registry
    directory.mkdir(parents=True, exist_ok=True)
    server = json.dumps(f"http://{registry}")
    (directory / "hosts.toml").write_text(
        f'server = {server}\n[host.{server}]\n  capabilities = ["pull", "resolve"]\n'
    )


def _pod_network(directory: Path, pods: str) -> dict[str, object]:
    # A cable per pod instead of a bridge: then a pod reaches itself or its neighbour through
    # a Service without the kernel's br_netfilter, since every packet is routed.
    return {
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "ptp",
                "ipMasq": False,
                "ipam": {
                    "type": "host-local",
                    "dataDir": str(directory / "addresses"),
                    "ranges": [[{"subnet": pods}]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }


def _configuration(directory: Path, network: Path, registries: Path) -> str:
    # restrict_oom_score_adj: without CAP_SYS_RESOURCE runc dies of any lower value.
    # The opt plugin would make /opt/containerd on the host.
    text = {key: json.dumps(str(value)) for key, value in _paths(directory).items()}
    cri = '[plugins."io.containerd.grpc.v1.cri"'
    return f"""\
version = 2
root = {text["root"]}
state = {text["state"]}
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[grpc]
  address = {text["socket"]}
[plugins."io.containerd.internal.v1.opt"]
  path = {text["opt"]}
{cri}]
  sandbox_image = {json.dumps(PAUSE_IMAGE)}
  restrict_oom_score_adj = true
{cri}.cni]
  bin_dir = {json.dumps(str(PLUGINS))}
  conf_dir = {json.dumps(str(network))}
{cri}.registry]
  config_path = {json.dumps(str(registries))}
{cri}.containerd]
  snapshotter = "overlayfs"
{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
{cri}.containerd.runtimes.runc.options]
  SystemdCgroup = false
"""


def _paths(directory: Path) -> dict[str, Path]:
    return {
        "root": directory / "containerd",
        "state": directory / "containerd-state",
        "socket": socket(directory),
        "opt": directory / "containerd-opt",
    }
