"""What people and machines do to a Rollout on real nodes, at the worst moment."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import Resource
from tests.contract.workloads.world import World, running_controllers
from tests.node.test_workloads import asking, expose, is_complete, kubectl, web
from tests.node_fixtures import NodeCluster
from workloads.names import ROLLOUTS

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("needs_real_nodes")]

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")


@pytest.fixture
async def live(node_cluster: NodeCluster, node_namespace: str) -> AsyncIterator[World]:
    """Both controllers for one namespace of the real nodes."""
    node_cluster.kubectl("apply", "--server-side", "-f", CRDS)
    node_cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", CRDS)
    client = await ApiClient.connect(
        kubeconfig=str(node_cluster.kubeconfig), user_agent="levelset-tests"
    )
    async with client, running_controllers(client, node_namespace):
        yield World(client, node_namespace)


async def test_a_drain_in_the_middle_of_a_rollout_fails_no_request(
    node_cluster: NodeCluster, live: World
) -> None:
    await expose(live)
    await live.rollout(
        3,
        template=web("one"),
        strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
        disruption={"mode": "None", "budget": "None"},  # the test brings its own budget
    )
    budget = {
        "apiVersion": BUDGETS.api_version,
        "kind": BUDGETS.kind,
        "metadata": {"name": "web"},
        "spec": {"minAvailable": "60%", "selector": {"matchLabels": {"app": "web"}}},
    }
    await live.create(BUDGETS, budget)
    await is_complete(live, revision=1)
    node = (await live.pods())[0]["spec"]["nodeName"]

    try:
        async with asking(node_cluster, live) as answers:
            await live.patch(ROLLOUTS, "web", {"spec": {"template": web("two")}})
            flags = ("--ignore-daemonsets", "--pod-selector=app=web", "--timeout=60s")
            await kubectl(node_cluster, "drain", node, *flags, timeout_seconds=70)
            await is_complete(live, revision=2)
            # Again: the scheduler may have sent one there just before it heard of the cordon.
            await kubectl(node_cluster, "drain", node, *flags, timeout_seconds=70)
            await is_complete(live, revision=2)
            await asyncio.sleep(1)  # the last answers are on their way
            said = await answers()
        assert node not in {pod["spec"]["nodeName"] for pod in await live.pods(selector="app=web")}
    finally:
        await kubectl(node_cluster, "uncordon", node)

    assert said.count("FAILED") == 0
    assert said[-1] == "two"
