"""One PodSet from 0 to 1000 pods and back, beside the built-in ReplicaSet on the same cluster.

With equal and with default limits, see duel.py; a watcher counts that there is never a pod too many.
"""

import os
from collections.abc import AsyncIterator, Iterator

import pytest

from kube_runtime.api import ApiClient, PatchType
from tests.bench.cluster import NAMESPACE, Cluster, administrator, cluster
from tests.bench.contenders import BUILTIN_DEFAULT, OURS_DEFAULT
from tests.bench.duel import Stages, duel, judge, publish, scaled
from tests.bench.stages import Run

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

PODS_WANTED = int(os.environ.get("LEVELSET_BENCH_PODS", str(scaled(1000))))


@pytest.fixture(scope="module")
def cluster_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("podset-bench")) as started:
        yield started


@pytest.fixture
async def client(cluster_: Cluster) -> AsyncIterator[ApiClient]:
    async with await administrator(cluster_.plane) as api:
        yield api


async def test_a_podset_grows_and_shrinks_as_fast_as_a_replicaset(
    cluster_: Cluster, client: ApiClient
) -> None:
    stages = await duel(cluster_, client, _up_and_down)

    up, down = stages["up"], stages["down"]
    faster = up[BUILTIN_DEFAULT]["created p99 s"] / up[OURS_DEFAULT]["created p99 s"]
    publish(f"podset 0 to {PODS_WANTED}", up, times_faster_by_default_than_builtin=round(faster, 1))
    publish(f"podset {PODS_WANTED} to 0", down)
    assert judge(up) == []
    assert judge(down) == []


async def _up_and_down(run: Run) -> Stages:
    resource = run.contender.resource
    run.timeline.allow("big", most=PODS_WANTED)

    async with run.stage(pods=PODS_WANTED) as up:
        body = run.contender.object("big", PODS_WANTED)
        await run.api.create(resource, body, namespace=NAMESPACE)
        await run.until(lambda: len(run.timeline.ready) == PODS_WANTED)
    assert len(run.timeline.created) == PODS_WANTED

    async with run.stage(pods=PODS_WANTED) as down:
        none = {"spec": {"replicas": 0}}
        await run.api.patch(resource, "big", none, namespace=NAMESPACE, type=PatchType.MERGE)
        await run.until(lambda: run.timeline.present == 0)
    return {"up": up, "down": down}
