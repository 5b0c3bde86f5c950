"""A cluster to be broken, and the summary of what was done to it."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from local_cluster import kubectl, simulated
from local_cluster.control_plane import ALWAYS_ON_CONTROLLERS, ControlPlane
from tests.chaos.tally import ALL
from tests.contract.workloads.world import World

ROOT = Path(__file__).parents[2]
# What pods on simulated nodes need, and not a controller more: two cores are shared by all.
_CONTROLLERS = (*ALWAYS_ON_CONTROLLERS, "node-lifecycle-controller", "garbage-collector-controller")
_LIMITS = ("--kube-api-qps=1000", "--kube-api-burst=2000")
_AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    verbs: [get, list, watch]
  - level: Metadata
    users: [replica-0, replica-1]
  - level: None
"""


@pytest.fixture(scope="module")
def audit_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the API server notes every write of a controller process, one JSON line each."""
    return tmp_path_factory.mktemp("audit") / "audit.log"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory, audit_log: Path) -> Iterator[ControlPlane]:
    """A cluster of this module alone: it is stopped, frozen and started again."""
    policy = audit_log.with_name("policy.yaml")
    policy.write_text(_AUDIT_POLICY)
    flags = [f"--audit-log-path={audit_log}", f"--audit-policy-file={policy}"]
    started = ControlPlane.start(tmp_path_factory.mktemp("chaos-plane"), api_flags=flags)
    try:
        # While the API server is away nodes cannot say that they live; nobody is to evict for it.
        patience = "--node-monitor-grace-period=30m"
        started.start_controllers(_CONTROLLERS, flags=[*_LIMITS, patience])
        started.start_scheduler(flags=_LIMITS)
        simulated.start(started)
        simulated.add_nodes(started.kubeconfig, list(simulated.names(3)))
        run = kubectl.Kubectl(started.kubeconfig)
        run("apply", "--server-side", "-f", ROOT / "deploy" / "crds")
        run("wait", "--for=condition=Established", "--timeout=60s", "-f", ROOT / "deploy" / "crds")
        yield started
    finally:
        started.stop()


@pytest.fixture
async def admin(plane: ControlPlane) -> AsyncIterator[ApiClient]:
    """An administrator's client, straight to the API server whatever happens to the controllers'."""
    client = await ApiClient.connect(
        kubeconfig=str(plane.kubeconfig), user_agent="levelset-chaos", qps=1000, timeout_seconds=5
    )
    async with client:
        yield client


@pytest.fixture
def world(api: ApiClient, namespace: str, crds: None) -> World:
    """A namespace of the shared control plane, without controllers."""
    return World(api, namespace)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many faults there were, and how many checks they did not break."""
    if not ALL:
        return
    terminalreporter.section("faults and checks")
    for tally in ALL:
        terminalreporter.write_line(tally.line())
        for violation in tally.violations[:20]:
            terminalreporter.write_line(f"  {violation}")
