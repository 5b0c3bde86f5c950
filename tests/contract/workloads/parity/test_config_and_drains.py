"""Copies and budgets among real controllers: the garbage collector, the budgets' controller, drains."""

import asyncio

import pytest

from kube_runtime.resource import CONFIG_MAPS, POD_DISRUPTION_BUDGETS, Json
from local_cluster.kubectl import Kubectl
from tests.contract.workloads.world import World, template
from workloads import names

pytestmark = pytest.mark.contract

SECONDS = 60.0


def reading(name: str) -> Json:
    made = template()
    made["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": name}}]
    return made


async def copies(world: World) -> list[Json]:
    return await world.all(CONFIG_MAPS, label_selector=names.CONFIG_OF)


async def test_copies_go_with_the_rollout(full_world: World) -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
    await full_world.create(CONFIG_MAPS, settings | {"data": {"level": "one"}})
    await full_world.rollout(1, template=reading("settings"))

    async def belongs_to_a_podset() -> None:
        (copy,) = await copies(full_world)
        assert [owner["kind"] for owner in copy["metadata"]["ownerReferences"]] == ["PodSet"]

    await full_world.eventually(belongs_to_a_podset, seconds=SECONDS)
    await full_world.delete(names.ROLLOUTS, "web")

    async def nothing_is_left() -> None:
        assert await copies(full_world) == []

    await full_world.eventually(nothing_is_left, seconds=SECONDS)
    assert await full_world.get(CONFIG_MAPS, "settings")


async def test_a_single_pod_is_drained_without_a_moment_of_none(
    full_world: World, full_kubectl: Kubectl
) -> None:
    await full_world.rollout(1)
    await full_world.eventually(full_world.is_complete, seconds=SECONDS)

    async def the_budget_is_counted() -> None:
        budget = await full_world.get(POD_DISRUPTION_BUDGETS, "web-rollout")
        assert budget["status"]["currentHealthy"] == 1
        assert budget["status"]["disruptionsAllowed"] == 0

    await full_world.eventually(the_budget_is_counted, seconds=SECONDS)
    (pod,) = await full_world.pods()
    node = pod["spec"]["nodeName"]
    lowest = 1

    async def look() -> None:
        nonlocal lowest
        while True:
            ready = [
                each
                for each in await full_world.pods()
                if any(
                    (entry["type"], entry["status"]) == ("Ready", "True")
                    for entry in each["status"].get("conditions", ())
                )
            ]
            lowest = min(lowest, len(ready))
            await asyncio.sleep(0.05)

    looking = asyncio.create_task(look())
    try:
        flags = ("--ignore-daemonsets", "--pod-selector=app=web", "--timeout=60s")
        await asyncio.to_thread(full_kubectl, "drain", node, *flags, timeout_seconds=70)
        await full_world.eventually(full_world.is_complete, seconds=SECONDS)
        (successor,) = await full_world.pods()
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        await asyncio.to_thread(full_kubectl, "uncordon", node)

    assert lowest == 1
    assert successor["spec"]["nodeName"] != node


async def test_our_budget_makes_way_for_one_of_the_users(full_world: World) -> None:
    await full_world.rollout(1)

    async def there_is(*expected: str) -> None:
        found = await full_world.all(POD_DISRUPTION_BUDGETS)
        assert [each["metadata"]["name"] for each in found] == list(expected)

    await full_world.eventually(lambda: there_is("web-rollout"), seconds=SECONDS)
    spec = {"minAvailable": 0, "selector": {"matchLabels": {"app": "web"}}}
    theirs = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "spec": spec}
    await full_world.create(POD_DISRUPTION_BUDGETS, theirs | {"metadata": {"name": "web"}})
    await full_world.eventually(lambda: there_is("web"), seconds=SECONDS)
    await full_world.delete(POD_DISRUPTION_BUDGETS, "web")
    await full_world.eventually(lambda: there_is("web-rollout"), seconds=SECONDS)
