"""The kubelet's and kube-proxy's configuration of one node."""

from pathlib import Path
from typing import Any

import yaml

from local_cluster import pki
from local_cluster.embedded import containerd, network

DNS_ADDRESS = "10.96.0.10"
DOMAIN = "cluster.local"
_RESOLVER = "resolv.conf"


def write_resolver(directory: Path, name_server: str) -> Path:
    """Write the resolv.conf of the node itself, and of pods that want the node's."""
    file = directory / _RESOLVER
    file.write_text(f"nameserver {name_server}\noptions timeout:2 attempts:2\n")
    return file


def write_configuration(
    directory: Path,
    *,
    authority: Path,
    serving: pki.Certificate,
    cgroup: str,
    is_cgroup_v2: bool,
) -> Path:
    """Write the kubelet's configuration."""
    document: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": str(authority)},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(serving.certificate),
        "tlsPrivateKeyFile": str(serving.key),
        "containerRuntimeEndpoint": f"unix://{containerd.socket(directory)}",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": DOMAIN,
        "resolvConf": str(directory / _RESOLVER),
        "podLogsDir": str(directory / "pod-logs"),
        "volumePluginDir": str(directory / "volume-plugins"),
        # Not every file system is recognised, and a full disk is its owner's business.
        "localStorageCapacityIsolation": False,
        "evictionHard": {"nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        # An image that was loaded stays usable under its name, even after the same content has
        # been pulled under another.
        "imagePullCredentialsVerificationPolicy": "NeverVerify",
        "serializeImagePulls": False,
        "registryPullQPS": 0,
    }
    if not is_cgroup_v2:
        document["failCgroupV1"] = False
    return _write(directory / "kubelet.yaml", document)


def write_proxy_configuration(directory: Path, *, node_name: str, kubeconfig: Path) -> Path:
    """Write kube-proxy's configuration."""
    return _write(
        directory / "kube-proxy.yaml",
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clientConnection": {"kubeconfig": str(kubeconfig)},
            "hostnameOverride": node_name,
            "clusterCIDR": network.PODS,
            "conntrack": {"maxPerCore": 0},  # that sysctl may not be set everywhere
        },
    )


def _write(path: Path, document: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path
