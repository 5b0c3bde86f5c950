"""ServiceAccounts that scrape, the exporter's own, and a server certificate."""

from pathlib import Path

import pytest

from local_cluster.control_plane import ControlPlane
from local_cluster.kubectl import Kubectl
from local_cluster.services import running
from tests.contract.exporters.support import RBAC, SYSTEM, TokenOf, kubeconfig_with_token


@pytest.fixture
def tls_files(tmp_path: Path) -> running.TlsFiles:
    return running.issue_server_certificate(tmp_path / "tls", "127.0.0.1")


@pytest.fixture(scope="session")
def exporter_rbac(session_kubectl: Kubectl) -> None:
    """The rights that the chart ships."""
    session_kubectl("create", "namespace", SYSTEM, check=False)
    session_kubectl("apply", "--server-side", "-f", RBAC)


@pytest.fixture
def token_of(kubectl: Kubectl, namespace: str, exporter_rbac: None) -> TokenOf:
    """Make a ServiceAccount of this test's namespace and return a token of it."""

    def make(account: str) -> str:
        kubectl("create", "serviceaccount", account, "-n", namespace, check=False)
        return kubectl("create", "token", account, "-n", namespace).stdout.strip()

    return make


@pytest.fixture
def scraper_token(kubectl: Kubectl, namespace: str, token_of: TokenOf) -> str:
    """The token of a ServiceAccount that may scrape."""
    token = token_of("scraper")
    kubectl(
        "create",
        "clusterrolebinding",
        f"scraper-{namespace}",
        "--clusterrole=levelset-metrics-reader",
        f"--serviceaccount={namespace}:scraper",
    )
    return token


@pytest.fixture
def exporter_kubeconfig(
    control_plane: ControlPlane, kubectl: Kubectl, exporter_rbac: None, tmp_path: Path
) -> Path:
    """A kubeconfig of the exporter's own ServiceAccount."""
    token = kubectl("create", "token", "levelset-exporters", "-n", SYSTEM).stdout.strip()
    return kubeconfig_with_token(control_plane.kubeconfig, token, tmp_path / "exporter.kubeconfig")
