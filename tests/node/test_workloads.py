"""Rollouts on real nodes: no request fails, nothing is left behind, drains and budgets work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import NODES, PODS, Json, is_deleting
from tests.contract.workloads.census import census
from tests.contract.workloads.world import World, revision, running_controllers
from tests.node_fixtures import USERLAND, NodeCluster
from workloads.names import PODSETS, ROLLOUTS

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("needs_real_nodes")]

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
SECONDS = 90.0
_LIVE = ("Pending", "Running")
ASKS = "while true; do wget -q -O - http://web || echo FAILED; done"


@pytest.fixture
async def world(
    node_cluster: NodeCluster, node_namespace: str, node_crds: None
) -> AsyncIterator[World]:
    """Both controllers for one namespace of the real nodes."""
    client = await ApiClient.connect(
        kubeconfig=str(node_cluster.kubeconfig), user_agent="levelset-tests"
    )
    async with client, running_controllers(client, node_namespace):
        yield World(client, node_namespace)


@pytest.fixture(scope="session")
def node_crds(node_cluster: NodeCluster) -> None:
    """Our CRDs on the cluster of the node tests."""
    node_cluster.kubectl("apply", "--server-side", "-f", CRDS)
    node_cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", CRDS)


def web(version: str, *, grace_seconds: int = 10) -> Json:
    serve = (
        "mkdir -p /tmp/www; echo $VERSION > /tmp/www/index.html; exec httpd -f -p 8080 -h /tmp/www"
    )
    container = {
        "name": "web",
        "image": USERLAND,
        "command": ["/bin/sh", "-c", serve],
        "env": [{"name": "VERSION", "value": version}],
        "readinessProbe": {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1},
        # Endpoints are gone before the server is: requests under way are answered.
        "lifecycle": {"preStop": {"exec": {"command": ["/bin/sleep", "4"]}}},
    }
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"terminationGracePeriodSeconds": grace_seconds, "containers": [container]},
    }


async def kubectl(cluster: NodeCluster, *words: str, **more: Any) -> str:
    done = await asyncio.to_thread(cluster.kubectl, *words, **more)
    return done.stdout


@asynccontextmanager
async def asking(
    cluster: NodeCluster, world: World
) -> AsyncIterator[Callable[[], Awaitable[list[str]]]]:
    """Ask the Service without a pause from a pod, until the answers are asked for."""
    await world.create(
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "client"},
            "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [
                    {"name": "c", "image": USERLAND, "command": ["/bin/sh", "-c", ASKS]}
                ],
            },
        },
    )
    wait = ("wait", "--for=condition=Ready", "pod/client", "-n", world.namespace, "--timeout=30s")
    await kubectl(cluster, *wait, timeout_seconds=40)

    async def answers() -> list[str]:
        return (await kubectl(cluster, "logs", "client", "-n", world.namespace)).split()

    yield answers


async def expose(world: World) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    await world.api.request("POST", f"/api/v1/namespaces/{world.namespace}/services", body=service)


async def is_complete(world: World, **wanted: Any) -> None:
    await world.eventually(lambda: world.is_complete(**wanted), seconds=SECONDS)


async def test_a_rolling_update_fails_no_request(node_cluster: NodeCluster, world: World) -> None:
    await expose(world)
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    await world.rollout(2, template=web("one"), strategy=strategy)
    await is_complete(world, revision=1)

    async with asking(node_cluster, world) as answers:
        await asyncio.sleep(1)
        await world.patch(ROLLOUTS, "web", {"spec": {"template": web("two")}})
        await is_complete(world, revision=2)
        await asyncio.sleep(1)
        said = await answers()

    assert said.count("FAILED") == 0
    assert said[0] == "one"
    assert said[-1] == "two"
    assert len(said) > 50


async def test_recreate_never_runs_two_versions_at_once(world: World) -> None:
    await world.rollout(2, template=web("one"), strategy={"type": "Recreate"})
    await is_complete(world, revision=1)
    both = False

    async def look() -> None:
        nonlocal both
        while True:
            # A pod that has ended holds nothing any more, even if it is still listed.
            pods = [pod for pod in await world.all(PODS) if pod["status"]["phase"] in _LIVE]
            versions = {pod["spec"]["containers"][0]["env"][0]["value"] for pod in pods}
            both = both or len(versions) > 1
            await asyncio.sleep(0.1)

    looking = asyncio.create_task(look())
    await world.patch(ROLLOUTS, "web", {"spec": {"template": web("two")}})
    await is_complete(world, revision=2)
    looking.cancel()
    await asyncio.gather(looking, return_exceptions=True)

    assert not both


async def test_a_drained_node_loses_its_pods_and_the_budget_is_kept(
    node_cluster: NodeCluster, world: World
) -> None:
    await world.rollout(3, template=web("one"))
    await is_complete(world)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"minAvailable": "60%", "selector": {"matchLabels": {"app": "web"}}},
    }
    path = f"/apis/policy/v1/namespaces/{world.namespace}/poddisruptionbudgets"
    await world.api.request("POST", path, body=budget)

    async def is_counted() -> None:
        seen = await world.api.request("GET", f"{path}/web")
        assert (seen.get("status") or {}).get("expectedPods") == 3
        assert seen["status"]["disruptionsAllowed"] == 1

    await world.eventually(is_counted, seconds=30)
    node = (await world.pods())[0]["spec"]["nodeName"]

    try:
        flags = ("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=80s")
        selected = "--pod-selector=app=web"
        await kubectl(node_cluster, "drain", node, *flags, selected, timeout_seconds=SECONDS)
        await is_complete(world, availableReplicas=3)
        assert node not in {pod["spec"]["nodeName"] for pod in await world.pods()}
    finally:
        await kubectl(node_cluster, "uncordon", node)


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
async def test_deleting_a_rollout_leaves_nothing_behind(world: World, policy: str) -> None:
    await world.rollout(3, template=web("one", grace_seconds=5))
    await is_complete(world)

    await world.delete(ROLLOUTS, "web", propagation_policy=policy)

    async def nothing_is_left() -> None:
        assert await world.all(ROLLOUTS) == []
        assert await world.all(PODSETS) == []
        assert await world.all(PODS) == []

    await world.eventually(nothing_is_left, seconds=SECONDS)


async def test_a_lost_pod_is_replaced_and_a_lost_podset_too(world: World) -> None:
    await world.rollout(2, template=web("one", grace_seconds=5))
    await is_complete(world)
    pods = await world.pods()

    await world.delete(PODS, pods[0]["metadata"]["name"])
    await world.has_pods(2)
    (podset,) = await world.podsets()
    await world.delete(PODSETS, podset["metadata"]["name"])

    async def all_new() -> None:
        now = [pod for pod in await world.all(PODS) if not is_deleting(pod)]
        assert len(now) == 2
        assert not {pod["metadata"]["uid"] for pod in now} & {
            pod["metadata"]["uid"] for pod in pods
        }
        await world.has_condition(ROLLOUTS, "Ready", "True")

    await world.eventually(all_new, seconds=SECONDS)


async def test_a_template_that_the_node_refuses_makes_few_pods_and_leaves_the_old_ones(
    world: World,
) -> None:
    await world.rollout(4, template=web("one", grace_seconds=2))
    await is_complete(world, revision=1)
    old = {pod["metadata"]["uid"] for pod in await world.pods()}
    node = (await world.api.list(NODES)).items[0]["metadata"]["name"]
    refused = web("two")
    # Past the scheduler, so that it is the kubelet who says no.
    refused["spec"] |= {"nodeName": node, "nodeSelector": {"no-node-has": "this"}}

    async with census(world.api, world.namespace) as counted:
        await world.patch(ROLLOUTS, "web", {"spec": {"template": refused}})

        async def the_old_ones_serve() -> None:
            assert counted.created < 10
            assert (await world.status(ROLLOUTS))["availableReplicas"] >= 3

        await world.stays(the_old_ones_serve, 60)
    assert counted.created > 1  # it did go on trying

    podset = next(each for each in await world.podsets() if revision(each) == "2")
    failure = await world.condition(PODSETS, "ReplicaFailure", podset["metadata"]["name"])
    assert failure["reason"] == "PodsFailed"
    assert "NodeAffinity" in failure["message"]
    assert podset["status"]["blockedBy"]["reason"] == "Admission"
    living = {
        pod["metadata"]["uid"] for pod in await world.pods() if pod["status"]["phase"] == "Running"
    }
    assert len(living & old) >= 3


async def test_a_drain_needs_no_hook_in_the_template(
    node_cluster: NodeCluster, world: World
) -> None:
    await expose(world)
    plain = web("one", grace_seconds=2)
    del plain["spec"]["containers"][0]["lifecycle"]
    new = web("two", grace_seconds=2)
    del new["spec"]["containers"][0]["lifecycle"]
    strategy = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    await world.rollout(2, template=plain, strategy=strategy, drainSeconds=4)
    await is_complete(world, revision=1)

    async with asking(node_cluster, world) as answers:
        await asyncio.sleep(1)
        await world.patch(ROLLOUTS, "web", {"spec": {"template": new}})
        await is_complete(world, revision=2)
        await asyncio.sleep(1)
        said = await answers()

    assert said.count("FAILED") == 0
    assert said[-1] == "two"
