"""Pods on nodes that are being emptied: counted, and the first to go."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from kube_runtime.api import PatchType
from kube_runtime.resource import NODES, PODS
from tests.contract.workloads.world import World
from workloads.names import PODSETS

pytestmark = pytest.mark.contract


@pytest.fixture
async def node(controlled: World) -> AsyncIterator[str]:
    """A node by name only: nobody runs on it."""
    name = f"node-{controlled.namespace}"
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    await controlled.api.create(NODES, body)
    yield name
    await controlled.api.delete(NODES, name)


async def set_cordon(world: World, node: str, *, on: bool) -> None:
    body = {"spec": {"unschedulable": on}}
    await world.api.patch(NODES, node, body, type=PatchType.MERGE)


async def test_a_pod_on_a_cordoned_node_is_counted_and_goes_first(
    controlled: World, node: str
) -> None:
    await controlled.podset(2)
    pods = await controlled.has_pods(2)
    since = datetime.now(UTC) - timedelta(hours=1)
    for pod, place in zip(pods, (node, f"other-{node}"), strict=True):
        await controlled.bind(pod, place)
        await controlled.make_ready(pod, since=since)
    # Dear, but it must go soon anyway.
    dear = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "100"}}}
    await controlled.patch(PODS, pods[0]["metadata"]["name"], dear)
    await controlled.has_status(PODSETS, availableReplicas=2, disruptedReplicas=0)

    await set_cordon(controlled, node, on=True)
    await controlled.has_status(PODSETS, availableReplicas=2, disruptedReplicas=1)
    await set_cordon(controlled, node, on=False)
    await controlled.has_status(PODSETS, disruptedReplicas=0)
    await set_cordon(controlled, node, on=True)
    await controlled.has_status(PODSETS, disruptedReplicas=1)
    await controlled.scale(PODSETS, "web", 1)

    (left,) = await controlled.has_pods(1)
    assert left["metadata"]["name"] == pods[1]["metadata"]["name"]
    await controlled.has_status(PODSETS, replicas=1, disruptedReplicas=0)
