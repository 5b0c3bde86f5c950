"""The workloads controllers in a cluster with 5,000 pods: how much memory, and how fast a sync."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import PODS
from local_cluster import kubectl, process
from local_cluster.control_plane import ALWAYS_ON_CONTROLLERS, ControlPlane
from tests.bench.contenders import OURS, ROOT, Measured, start_ours
from tests.bench.results import record

pytestmark = pytest.mark.bench

NAMESPACE = "bench"
PODS_WANTED = 5000
PODSETS_WANTED = 20
MOST_MEMORY_MB = 250
SECONDS = 300


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    started = ControlPlane.start(tmp_path_factory.mktemp("memory-plane"))
    try:
        started.start_controllers(ALWAYS_ON_CONTROLLERS)
        run = kubectl.Kubectl(started.kubeconfig)
        run("apply", "--server-side", "-f", ROOT / "deploy" / "crds")
        run("wait", "--for=condition=Established", "--timeout=60s", "-f", ROOT / "deploy" / "crds")
        run("create", "namespace", NAMESPACE)
        run("create", "serviceaccount", "default", "-n", NAMESPACE, check=False)
        yield started
    finally:
        started.stop()


@pytest.fixture
async def client(plane: ControlPlane) -> AsyncIterator[ApiClient]:
    api = await ApiClient.connect(
        kubeconfig=str(plane.kubeconfig), user_agent="levelset-bench", qps=5000, burst=5000
    )
    async with api:
        yield api


async def test_five_thousand_pods_fit_into_250_mb(plane: ControlPlane, client: ApiClient) -> None:
    program = start_ours(plane, NAMESPACE, *OURS.flags)
    try:
        measured = Measured(program.identity.pid)
        for number in range(PODSETS_WANTED):
            body = OURS.object(f"set-{number}", PODS_WANTED // PODSETS_WANTED)
            await client.create(OURS.resource, body, namespace=NAMESPACE)
        seconds = await _all_made(client, program)
        after_creation = measured.memory_mb()
        restarted = await _restarted(plane, program)
    finally:
        process.stop([program])
    try:
        after_start = Measured(restarted.identity.pid).memory_mb()
    finally:
        process.stop([restarted])
    record(
        f"memory at {PODS_WANTED} pods",
        after_creation_mb=round(after_creation),
        after_restart_mb=round(after_start),
        creation_seconds=round(seconds, 1),
    )
    assert max(after_creation, after_start) < MOST_MEMORY_MB


async def _all_made(client: ApiClient, program: process.Program) -> float:
    """Wait until every PodSet says that it has all its pods."""
    start = time.monotonic()
    async with asyncio.timeout(SECONDS):
        while True:
            program.check()
            podsets = (await client.list(OURS.resource, namespace=NAMESPACE)).items
            made = sum((podset.get("status") or {}).get("replicas", 0) for podset in podsets)
            if made == PODS_WANTED:
                break
            await asyncio.sleep(0.5)
    pods = await client.list(PODS, namespace=NAMESPACE)
    assert len(pods.items) == PODS_WANTED
    return time.monotonic() - start


async def _restarted(plane: ControlPlane, program: process.Program) -> process.Program:
    """Start it anew on all those pods, and let it look at everything once."""
    process.stop([program])
    again = start_ours(plane, NAMESPACE, *OURS.flags)
    measured = Measured(again.identity.pid)
    await asyncio.sleep(5)
    async with asyncio.timeout(60):
        while True:
            before = measured.cpu_seconds()
            await asyncio.sleep(2)
            again.check()
            if measured.cpu_seconds() - before < 0.1:
                return again
