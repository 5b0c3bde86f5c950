"""A whole control plane with simulated nodes, and our controllers with the rights of the chart.

For what real controllers make of our kinds: the garbage collector, budgets, autoscalers. The
API server checks who may block the deletion of an owner, as OpenShift's does.
"""

import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from local_cluster import simulated
from local_cluster.control_plane import ControlPlane
from local_cluster.errors import ClusterError
from local_cluster.kubectl import Kubectl
from tests.contract.workloads.world import World, running_controllers
from tests.faults.proxy import FaultProxy

DEPLOY = Path(__file__).parents[4] / "deploy"
ACCOUNT = "system:serviceaccount:levelset-system:levelset-workloads"
_API_FLAGS = ("--enable-admission-plugins=OwnerReferencesPermissionEnforcement",)
_LIMITS = ("--kube-api-qps=1000", "--kube-api-burst=2000")
_AUTOSCALER = (
    "--horizontal-pod-autoscaler-sync-period=1s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=1s",
    "--horizontal-pod-autoscaler-downscale-stabilization=1s",
)


@pytest.fixture(scope="module")
def full_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Every built-in controller and the scheduler; autoscalers look every second."""
    try:
        plane = ControlPlane.start(tmp_path_factory.mktemp("full-plane"), api_flags=_API_FLAGS)
    except ClusterError as error:
        pytest.fail(error.diagnostics(), pytrace=False)
    try:
        kubectl = Kubectl(plane.kubeconfig)
        # Before the controllers start: they look for new kinds only every 30 s.
        kubectl("apply", "--server-side", "-f", DEPLOY / "crds")
        kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", DEPLOY / "crds")
        kubectl("create", "namespace", "levelset-system")
        kubectl("apply", "--server-side", "-f", DEPLOY / "chart" / "rbac" / "workloads.yaml")
        plane.start_controllers(["*"], flags=[*_LIMITS, *_AUTOSCALER])
        plane.start_scheduler(flags=_LIMITS)
        simulated.start(plane)
        simulated.add_nodes(plane.kubeconfig, list(simulated.names(2)))
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def full_kubectl(full_plane: ControlPlane) -> Kubectl:
    """The administrator's kubectl on the whole control plane."""
    return Kubectl(full_plane.kubeconfig)


@pytest.fixture
def full_namespace(full_kubectl: Kubectl) -> Iterator[str]:
    """A namespace of this test alone, where pods may be made; deleted afterwards."""
    name = f"test-{secrets.token_hex(4)}"
    full_kubectl("create", "namespace", name)
    full_kubectl("create", "serviceaccount", "default", "-n", name, check=False)
    yield name
    full_kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture
async def full_world(full_plane: ControlPlane, full_namespace: str) -> AsyncIterator[World]:
    """Our controllers as the account of the chart; the test itself is the administrator."""
    client = await ApiClient.connect(
        kubeconfig=str(full_plane.kubeconfig), user_agent="levelset-tests"
    )
    groups = ["system:serviceaccounts", "system:authenticated"]
    account = client.impersonating(ACCOUNT, groups)
    async with client, running_controllers(account, full_namespace):
        yield World(client, full_namespace)


@pytest.fixture
async def disturbed(world: World, proxy: FaultProxy) -> AsyncIterator[World]:
    """Controllers whose requests go through the proxy; the test's own do not."""
    client = await ApiClient.connect(
        kubeconfig=str(proxy.kubeconfig), user_agent="levelset-tests", timeout_seconds=5
    )
    async with client, running_controllers(client, world.namespace):
        yield world
