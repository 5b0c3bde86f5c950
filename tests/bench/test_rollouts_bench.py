"""Rollouts beside Deployments on one cluster: a hundred at once, a big rolling update, deletion.

Each test plays one scenario with both, with equal and with default limits; see duel.py.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest

from kube_runtime.api import ApiClient, PatchType
from tests.bench.cluster import NAMESPACE, Cluster, administrator, cluster
from tests.bench.contenders import template
from tests.bench.duel import Stages, duel, judge, publish, scaled
from tests.bench.stages import Run

pytestmark = [pytest.mark.bench, pytest.mark.timeout(900)]

ROLLOUTS = scaled(100)
PODS_EACH = 10
BIG = scaled(500)
SURGE = -(-BIG // 4)  # a quarter, rounded up
UNAVAILABLE = BIG // 4


@pytest.fixture(scope="module")
def cluster_(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("rollouts-bench")) as started:
        yield started


@pytest.fixture
async def client(cluster_: Cluster) -> AsyncIterator[ApiClient]:
    async with await administrator(cluster_.plane) as api:
        yield api


async def test_a_hundred_rollouts_come_and_go_as_fast_as_deployments(
    cluster_: Cluster, client: ApiClient
) -> None:
    stages = await duel(cluster_, client, _come_and_go)

    publish(f"{ROLLOUTS} rollouts of {PODS_EACH} pods", stages["come"])
    publish(f"cascading delete of {ROLLOUTS} rollouts of {PODS_EACH} pods", stages["go"])
    # Who deletes is the garbage collector, in both cases; ours only must not be in its way.
    assert judge(stages["come"]) == []
    assert stages["go"].keys() == stages["come"].keys()


async def test_a_rolling_update_is_as_fast_as_a_deployment(
    cluster_: Cluster, client: ApiClient
) -> None:
    stages = await duel(cluster_, client, _roll)

    publish(f"rolling update of {BIG} pods", stages["roll"], max_surge="25%", max_unavailable="25%")
    assert judge(stages["roll"]) == []


async def _come_and_go(run: Run) -> Stages:
    names = [f"web-{number}" for number in range(ROLLOUTS)]
    for name in names:
        run.timeline.allow(name, most=PODS_EACH)
    pods = ROLLOUTS * PODS_EACH

    async with run.stage(pods=pods) as come:
        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(_create(run, name, PODS_EACH))
        await run.until_complete(objects=ROLLOUTS, replicas=PODS_EACH)

    async with run.stage(pods=pods) as go:
        path = run.contender.rollout_resource.path(namespace=NAMESPACE)
        policy = {"propagationPolicy": "Background"}
        await run.api.request("DELETE", path, params=policy, timeout_seconds=60)
        await run.until(lambda: run.timeline.present == 0)
    return {"come": come, "go": go}


async def _roll(run: Run) -> Stages:
    run.timeline.allow("big", most=BIG)
    await _create(run, "big", BIG)
    await run.until_complete(objects=1, replicas=BIG)
    run.timeline.allow("big", most=BIG + SURGE, fewest=BIG - UNAVAILABLE)

    async with run.stage(pods=BIG) as roll:
        await run.api.patch(
            run.contender.rollout_resource,
            "big",
            {"spec": {"template": template("big", "1.0.1")}},
            namespace=NAMESPACE,
            type=PatchType.MERGE,
        )
        await run.until_complete(objects=1, replicas=BIG)
    return {"roll": roll}


async def _create(run: Run, name: str, replicas: int) -> None:
    body = run.contender.rollout(name, replicas)
    await run.api.create(run.contender.rollout_resource, body, namespace=NAMESPACE)
