"""One PodSet from 0 to 1000 pods, beside the built-in ReplicaSet on the same cluster.

The built-in controller runs with its default client limits once, and with the same high limits as
ours in turns with ours; a watcher counts that there is never a pod too many.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import NAMESPACES, PODS
from local_cluster import kubectl, simulated
from local_cluster.control_plane import ControlPlane
from tests.bench.contenders import BUILTIN, BUILTIN_DEFAULT, OURS, ROOT, Contender, running
from tests.bench.results import median, record
from tests.contract.workloads.census import Census, census

pytestmark = pytest.mark.bench

PODS_WANTED = int(os.environ.get("LEVELSET_BENCH_PODS", "1000"))
ROUNDS = int(os.environ.get("LEVELSET_BENCH_ROUNDS", "5"))
NAMESPACE = "bench"
ROUND_SECONDS = 240


@dataclass(frozen=True)
class Round:
    """One contender's time and cost for all pods."""

    created_seconds: float
    ready_seconds: float
    cpu_seconds: float
    memory_mb: float


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster of its own: every controller but the one that is measured, and simulated nodes."""
    started = ControlPlane.start(tmp_path_factory.mktemp("bench-plane"))
    try:
        fast = ["--kube-api-qps=1000", "--kube-api-burst=2000"]
        started.start_controllers(["*", "-replicaset-controller"], flags=fast)
        started.start_scheduler(flags=fast)
        run = kubectl.Kubectl(started.kubeconfig)
        run("apply", "--server-side", "-f", ROOT / "deploy" / "crds")
        run("wait", "--for=condition=Established", "--timeout=60s", "-f", ROOT / "deploy" / "crds")
        run("create", "namespace", NAMESPACE)
        run("create", "serviceaccount", "default", "-n", NAMESPACE, check=False)
        simulated.start(started)
        simulated.add_nodes(started.kubeconfig, list(simulated.names(10)))
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


async def test_a_podset_grows_as_fast_as_a_replicaset(
    plane: ControlPlane, client: ApiClient
) -> None:
    await client.get(NAMESPACES, NAMESPACE)
    stock = await measure(BUILTIN_DEFAULT, plane, client)
    ours: list[Round] = []
    builtin: list[Round] = []
    for number in range(ROUNDS):
        # In turns, and each of them first as often as second: the machine is not always the same.
        for contender in (OURS, BUILTIN) if number % 2 else (BUILTIN, OURS):
            result = await measure(contender, plane, client)
            (ours if contender is OURS else builtin).append(result)

    created = median([each.created_seconds for each in ours])
    created_builtin = median([each.created_seconds for each in builtin])
    record(
        f"podset 0 to {PODS_WANTED}",
        rounds=ROUNDS,
        ours_seconds=created,
        builtin_seconds=created_builtin,
        builtin_default_limits_seconds=round(stock.created_seconds, 2),
        ratio_to_builtin=round(created / created_builtin, 2),
        times_faster_than_default_limits=round(stock.created_seconds / created, 1),
        ours_ready_seconds=median([each.ready_seconds for each in ours]),
        builtin_ready_seconds=median([each.ready_seconds for each in builtin]),
        ours_cpu_seconds=median([each.cpu_seconds for each in ours]),
        builtin_cpu_seconds=median([each.cpu_seconds for each in builtin]),
        ours_memory_mb=median([each.memory_mb for each in ours], 0),
        builtin_memory_mb=median([each.memory_mb for each in builtin], 0),
        ours_all_seconds=[round(each.created_seconds, 2) for each in ours],
        builtin_all_seconds=[round(each.created_seconds, 2) for each in builtin],
    )
    assert created <= created_builtin * 1.15  # the medians of a small, busy machine
    assert stock.created_seconds >= 8 * created


async def measure(contender: Contender, plane: ControlPlane, client: ApiClient) -> Round:
    """Let one contender make all the pods of one object, and clean up after it."""
    name = f"big-{time.monotonic_ns()}"
    async with (
        running(contender, plane, client, NAMESPACE) as program,
        census(client, NAMESPACE) as counted,
    ):
        cpu, start = program.cpu_seconds(), time.monotonic()
        body = contender.object(name, PODS_WANTED)
        await client.create(contender.resource, body, namespace=NAMESPACE)
        created = await reached(counted, start)
        ready = await all_ready(contender, client, name, start)
        result = Round(created, ready, program.cpu_seconds() - cpu, program.memory_mb())
        assert counted.most == PODS_WANTED
        assert counted.created == PODS_WANTED
    await clean_up(contender, client, name)
    return result


async def reached(counted: Census, start: float) -> float:
    """Wait until the watcher has seen the last pod come."""
    async with asyncio.timeout(ROUND_SECONDS):
        while counted.created < PODS_WANTED:  # noqa: ASYNC110 - 10 ms are exact enough
            await asyncio.sleep(0.01)
    return time.monotonic() - start


async def all_ready(contender: Contender, client: ApiClient, name: str, start: float) -> float:
    """Wait until the object's own status says that all pods are ready."""
    async with asyncio.timeout(ROUND_SECONDS):
        while True:
            obj = await client.get(contender.resource, name, namespace=NAMESPACE)
            if (obj.get("status") or {}).get("readyReplicas") == PODS_WANTED:
                return time.monotonic() - start
            await asyncio.sleep(0.1)


async def clean_up(contender: Contender, client: ApiClient, name: str) -> None:
    """Delete everything, and wait until it has gone."""
    await client.delete(contender.resource, name, namespace=NAMESPACE)
    path = PODS.path(namespace=NAMESPACE)
    await client.request("DELETE", path, params={"gracePeriodSeconds": "0"}, timeout_seconds=120)
    async with asyncio.timeout(ROUND_SECONDS):
        while (await client.list(PODS, namespace=NAMESPACE)).items:  # noqa: ASYNC110
            await asyncio.sleep(0.5)
