"""A restart among 10,000 pods: how long until the first right action, and how much memory.

While nobody looked a pod was deleted; the clock runs from the start of the process until a watcher
sees its successor. The pods stay Pending: what they run on is not what is measured.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import PODS
from local_cluster import process
from tests.bench.cluster import NAMESPACE, Cluster, administrator, cluster
from tests.bench.contenders import OURS, Measured, start_ours, until_leading
from tests.bench.duel import scaled
from tests.bench.results import median, record
from tests.bench.timeline import Timeline, following

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

PODSETS = 20
PODS_EACH = scaled(500)
PODS_WANTED = PODSETS * PODS_EACH
RESTARTS = 3
FIRST_ACTION_SECONDS = 5.0
MOST_MEMORY_MB = 400
_DEADLINE_SECONDS = 170


@pytest.fixture(scope="module")
def cluster_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("restart-bench"), nodes=0) as started:
        yield started


@pytest.fixture
async def client(cluster_: Cluster) -> AsyncIterator[ApiClient]:
    async with await administrator(cluster_.plane) as api:
        yield api


async def test_after_a_restart_among_ten_thousand_pods_the_first_action_is_soon_and_right(
    cluster_: Cluster, client: ApiClient
) -> None:
    async with following(client, NAMESPACE) as timeline:
        program = start_ours(cluster_.plane, NAMESPACE, *OURS.flags)
        try:
            after_creation = await _fill(client, program, timeline)
        finally:
            process.stop([program])
        restarts = [await _restart(cluster_, client, timeline) for _ in range(RESTARTS)]

    first_action = median([seconds for seconds, _ in restarts])
    memory = max(peak for _, peak in restarts)
    record(
        f"restart at {PODS_WANTED} pods",
        restarts=RESTARTS,
        first_right_action_seconds=first_action,
        all_seconds=[round(seconds, 2) for seconds, _ in restarts],
        peak_memory_after_creation_mb=round(after_creation),
        peak_memory_after_restart_mb=round(memory),
        floor_seconds=FIRST_ACTION_SECONDS,
        floor_mb=MOST_MEMORY_MB,
    )
    assert first_action < FIRST_ACTION_SECONDS
    assert max(after_creation, memory) < MOST_MEMORY_MB


async def _fill(client: ApiClient, program: process.Program, timeline: Timeline) -> float:
    """Have all pods made; tell the memory that took at its peak."""
    for number in range(PODSETS):
        body = OURS.object(f"set-{number}", PODS_EACH)
        await client.create(OURS.resource, body, namespace=NAMESPACE)
    async with asyncio.timeout(_DEADLINE_SECONDS):
        while timeline.present < PODS_WANTED:
            program.check()
            await asyncio.sleep(0.1)
    return Measured(program.identity.pid).peak_memory_mb()


async def _restart(cluster_: Cluster, client: ApiClient, timeline: Timeline) -> tuple[float, float]:
    """Delete a pod while nobody looks, start the process; tell the seconds and its peak memory."""
    (victim, *_) = (await client.list(PODS, namespace=NAMESPACE)).items
    await client.delete(PODS, victim["metadata"]["name"], namespace=NAMESPACE)
    async with asyncio.timeout(30):
        while timeline.present != PODS_WANTED - 1:  # noqa: ASYNC110
            await asyncio.sleep(0.05)

    timeline.begin()
    began = time.monotonic()
    program = start_ours(cluster_.plane, NAMESPACE, *OURS.flags)
    try:
        async with asyncio.timeout(60):
            while not timeline.created:  # noqa: ASYNC110 - 10 ms are exact enough
                await asyncio.sleep(0.01)
        seconds = time.monotonic() - began
        await until_leading(client, program, NAMESPACE)
        await asyncio.sleep(3)  # whatever it does wrong, it would do by now
        assert len(timeline.created) == 1
        assert timeline.deleted == []
        return seconds, Measured(program.identity.pid).peak_memory_mb()
    finally:
        process.stop([program])
