"""Drains of real nodes: the successor comes first, and no request fails."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import POD_DISRUPTION_BUDGETS, Json
from tests.contract.workloads.world import World, running_controllers
from tests.node.test_workloads import SECONDS, asking, expose, kubectl, web
from tests.node_fixtures import NodeCluster

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("needs_real_nodes")]

CRDS = Path(__file__).parents[2] / "deploy" / "crds"


@pytest.fixture
async def world(node_cluster: NodeCluster, node_namespace: str) -> AsyncIterator[World]:
    """Both controllers for one namespace of the real nodes."""
    node_cluster.kubectl("apply", "--server-side", "-f", CRDS)
    node_cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", CRDS)
    client = await ApiClient.connect(
        kubeconfig=str(node_cluster.kubeconfig), user_agent="levelset-tests"
    )
    async with client, running_controllers(client, node_namespace):
        yield World(client, node_namespace)


def without_hook() -> Json:
    """A server that leaves it to drainSeconds to go on serving."""
    template = web("one", grace_seconds=20)
    del template["spec"]["containers"][0]["lifecycle"]
    return template


@pytest.mark.parametrize("replicas", [1, 3])
async def test_a_drain_fails_no_request(
    node_cluster: NodeCluster, world: World, replicas: int
) -> None:
    await expose(world)
    await world.rollout(replicas, template=without_hook(), drainSeconds=4)

    async def is_complete(**wanted: Any) -> None:
        await world.eventually(lambda: world.is_complete(**wanted), seconds=SECONDS)

    await is_complete(availableReplicas=replicas)

    async def has_a_budget() -> None:
        budget = await world.get(POD_DISRUPTION_BUDGETS, "web-rollout")
        assert budget["status"]["currentHealthy"] == replicas

    await world.eventually(has_a_budget, seconds=30)
    (pod, *_) = await world.pods(selector="app=web")
    node = pod["spec"]["nodeName"]

    try:
        async with asking(node_cluster, world) as answers:
            flags = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=80s")
            selected = "--pod-selector=app=web"
            await kubectl(node_cluster, "drain", node, *flags, selected, timeout_seconds=SECONDS)
            await is_complete(replicas=replicas, availableReplicas=replicas)
            said = await answers()
        there = {pod["spec"]["nodeName"] for pod in await world.pods(selector="app=web")}
    finally:
        await kubectl(node_cluster, "uncordon", node)

    assert node not in there
    assert said.count("FAILED") == 0
    assert len(said) > 50
