"""Who the controllers and Prometheus are: the ServiceAccounts and RBAC of the chart, and a token for each.

The tokens come from the TokenRequest API, as the kubelet's do for pods, so every process has exactly the rights
that deploy/chart/rbac gives it.
"""

from pathlib import Path

import yaml

from kube_runtime.api import ApiClient
from kube_runtime.resource import SERVICE_ACCOUNTS, Json
from levelset.demo.stage import SYSTEM_NAMESPACE
from local_cluster.services import running

_TOKEN_SECONDS = 24 * 3600
SCRAPER = "prometheus"


async def request_token(api: ApiClient, account: str) -> str:
    """Ask for a token of a ServiceAccount in the system namespace."""
    body: Json = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    answer = await api.create(
        SERVICE_ACCOUNTS, body, namespace=SYSTEM_NAMESPACE, name=account, subresource="token"
    )
    token: str = answer["status"]["token"]
    return token


def write_kubeconfig(path: Path, *, admin_kubeconfig: Path, token: str) -> Path:
    """Write a kubeconfig that reaches the same server as the administrator's with this token alone."""
    document = yaml.safe_load(admin_kubeconfig.read_text())
    for user in document["users"]:
        user["user"] = {"token": token}
    running.write_secret(path, yaml.safe_dump(document))
    return path


def scraper_manifests(reader_role: str) -> list[Json]:
    """Return Prometheus' ServiceAccount and its right to read /metrics of the controllers."""
    metadata = {"name": SCRAPER, "namespace": SYSTEM_NAMESPACE}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "levelset-demo-prometheus"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": reader_role,
            },
            "subjects": [{"kind": "ServiceAccount", **metadata}],
        },
    ]
