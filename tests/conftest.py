"""The fixtures that all tests share: a real control plane, a namespace, clients.

Session-scoped things are started once and on first use; a missing program fails the test with the
one line that says how to get it.
"""

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

import pytest

from local_cluster import kubectl as kubectl_program
from local_cluster import simulated
from local_cluster.control_plane import ALWAYS_ON_CONTROLLERS, ControlPlane
from local_cluster.errors import ClusterError

if TYPE_CHECKING:
    from kube_runtime.api import ApiClient

ROOT = Path(__file__).parent.parent
CRDS = ROOT / "deploy" / "crds"
pytest_plugins = [
    "tests.services_fixtures",
    "tests.node_fixtures",
    "tests.node_guard",
    "tests.shares",
]
_Made = TypeVar("_Made")


def _or_fail(make: Callable[[], _Made]) -> _Made:
    try:
        return make()
    except ClusterError as error:
        pytest.fail(error.diagnostics(), pytrace=False)


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """etcd and kube-apiserver on loopback, and only the controllers that namespaces need."""
    plane = _or_fail(lambda: ControlPlane.start(tmp_path_factory.mktemp("control-plane")))
    try:
        _or_fail(lambda: plane.start_controllers(ALWAYS_ON_CONTROLLERS))
        yield plane
    finally:
        plane.stop()


@pytest.fixture(scope="session")
def kubeconfig(control_plane: ControlPlane) -> Path:
    """The administrator's kubeconfig of the shared control plane."""
    return control_plane.kubeconfig


@pytest.fixture(scope="session")
def session_kubectl(kubeconfig: Path) -> kubectl_program.Kubectl:
    return kubectl_program.Kubectl(kubeconfig)


@pytest.fixture(scope="module")
def busy_control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of its own with every controller and the scheduler, their limits raised.

    Not the shared one: there tests bind pods and write their status by hand, and whoever else
    does so too makes them fail.
    """
    plane = _or_fail(lambda: ControlPlane.start(tmp_path_factory.mktemp("busy-control-plane")))
    limits = ["--kube-api-qps=1000", "--kube-api-burst=2000"]
    try:
        _or_fail(lambda: plane.start_controllers(["*"], flags=limits))
        _or_fail(lambda: plane.start_scheduler(flags=limits))
        yield plane
    finally:
        plane.stop()


class EnsureNodes(Protocol):
    def __call__(self, count: int, *, pods_per_node: int = 250) -> list[str]: ...


@pytest.fixture(scope="module")
def kwok_nodes(busy_control_plane: ControlPlane) -> EnsureNodes:
    """A function that makes sure of so many simulated, Ready nodes and returns their names."""
    _or_fail(lambda: simulated.start(busy_control_plane))

    def ensure(count: int, *, pods_per_node: int = 250) -> list[str]:
        names = list(simulated.names(count))
        simulated.add_nodes(busy_control_plane.kubeconfig, names, pods_per_node=pods_per_node)
        return names

    return ensure


@pytest.fixture(scope="session")
def crds(session_kubectl: kubectl_program.Kubectl) -> None:
    """Our CRDs, applied and Established."""
    session_kubectl("apply", "--server-side", "-f", CRDS)
    session_kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", CRDS)


@pytest.fixture
async def api(kubeconfig: Path) -> AsyncIterator["ApiClient"]:
    """An administrator's client."""
    from kube_runtime.api import ApiClient  # noqa: PLC0415 - unit tests start without aiohttp

    client = await ApiClient.connect(kubeconfig=str(kubeconfig), user_agent="levelset-tests")
    async with client:
        yield client


@pytest.fixture
def kubectl(session_kubectl: kubectl_program.Kubectl) -> kubectl_program.Kubectl:
    """The real kubectl as administrator: kubectl("get", "pods", check=False).stdout."""
    return session_kubectl


@pytest.fixture
def namespace(session_kubectl: kubectl_program.Kubectl) -> Iterator[str]:
    """A namespace of this test alone, with its default service account; deleted afterwards."""
    name = f"test-{secrets.token_hex(4)}"
    session_kubectl("create", "namespace", name)
    # Its controller would make it a moment later; a pod created before that is refused.
    session_kubectl("create", "serviceaccount", "default", "-n", name, check=False)
    yield name
    session_kubectl("delete", "namespace", name, "--wait=false")
