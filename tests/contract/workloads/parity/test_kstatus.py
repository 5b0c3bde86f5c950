"""What kstatus (Flux, Helm 4, kpt) makes of our objects, stage by stage.

The rules are those that kstatus publishes for kinds that it does not know: what is being deleted
is Terminating; a generation nobody has looked at is InProgress; Stalled is Failed; Reconciling,
and a Ready that is not True, are InProgress; everything else is Current.
"""

import pytest

from kube_runtime.resource import PODS, Json, Resource
from tests.contract.workloads.world import World, running_controllers, template
from workloads.names import PODSETS, ROLLOUTS

pytestmark = pytest.mark.contract


def kstatus(obj: Json) -> str:
    """Compute the status of an object of an unknown kind."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return "Terminating"
    if status.get("observedGeneration", metadata["generation"]) != metadata["generation"]:
        return "InProgress"
    conditions = {entry["type"]: entry["status"] for entry in status.get("conditions") or ()}
    if conditions.get("Reconciling") == "True":
        return "InProgress"
    if conditions.get("Stalled") == "True":
        return "Failed"
    return "Current" if conditions.get("Ready", "True") == "True" else "InProgress"


async def becomes(world: World, resource: Resource, wanted: str) -> None:
    async def check() -> None:
        obj = await world.get(resource, "web")
        assert kstatus(obj) == wanted, obj.get("status")

    await world.eventually(check)


async def test_an_object_that_nobody_has_looked_at_is_in_progress(world: World) -> None:
    await world.rollout(1)
    await world.podset(1)

    assert kstatus(await world.get(ROLLOUTS, "web")) == "InProgress"
    assert kstatus(await world.get(PODSETS, "web")) == "InProgress"


async def test_a_podset_is_current_when_all_its_pods_are_available(controlled: World) -> None:
    await controlled.podset(1)
    (pod,) = await controlled.has_pods(1)
    await controlled.has_status(PODSETS, replicas=1)
    assert kstatus(await controlled.get(PODSETS, "web")) == "InProgress"

    await controlled.make_ready(pod)

    await becomes(controlled, PODSETS, "Current")


async def test_a_rollout_goes_from_in_progress_to_current_and_back(controlled: World) -> None:
    await controlled.rollout(1)
    (pod,) = await controlled.has_pods(1)
    await controlled.has_status(ROLLOUTS, replicas=1)
    assert kstatus(await controlled.get(ROLLOUTS, "web")) == "InProgress"
    await controlled.make_ready(pod)
    await becomes(controlled, ROLLOUTS, "Current")

    changed = await controlled.set_image("web:2")

    assert kstatus(changed) == "InProgress"
    await controlled.has_status(ROLLOUTS, updatedReplicas=1)
    assert kstatus(await controlled.get(ROLLOUTS, "web")) == "InProgress"
    for new in await controlled.pods():
        await controlled.make_ready(new)
    await becomes(controlled, ROLLOUTS, "Current")


async def test_a_rollout_that_is_late_has_failed_until_it_is_mended(controlled: World) -> None:
    await controlled.rollout(1, progressDeadlineSeconds=1)
    await becomes(controlled, ROLLOUTS, "Failed")

    for pod in await controlled.has_pods(1):
        await controlled.make_ready(pod)

    await becomes(controlled, ROLLOUTS, "Current")


async def test_a_paused_change_is_in_progress(controlled: World) -> None:
    await controlled.rollout(1)
    for pod in await controlled.has_pods(1):
        await controlled.make_ready(pod)
    await becomes(controlled, ROLLOUTS, "Current")

    held = {"spec": {"paused": True, "template": template("web:2")}}
    await controlled.patch(ROLLOUTS, "web", held)

    await controlled.has_status(ROLLOUTS, updatedReplicas=0)
    assert kstatus(await controlled.get(ROLLOUTS, "web")) == "InProgress"


@pytest.mark.parametrize("resource", [PODSETS, ROLLOUTS], ids=str)
async def test_what_waits_for_its_pods_to_go_is_terminating(
    world: World, resource: Resource
) -> None:
    async with running_controllers(world.api, world.namespace):
        if resource is PODSETS:
            await world.podset(1)
        else:
            await world.rollout(1)
        await world.has_pods(1)
        await world.delete(resource, "web", propagation_policy="Foreground")

        await world.has_status(resource, replicas=1)
        assert kstatus(await world.get(resource, "web")) == "Terminating"
        assert len(await world.all(PODS)) == 1
