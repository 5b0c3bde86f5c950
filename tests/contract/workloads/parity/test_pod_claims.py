"""Which pods a PodSet takes and lets go, by what their owner references say."""

import pytest

from kube_runtime.resource import PODS, Json, controller_of, owner_references_of, uid_of
from tests.contract.workloads.world import World, bare_pod, running_controllers
from workloads.names import POD_DELETION_COST, PODSETS

pytestmark = pytest.mark.contract

FOREIGN: Json = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "other-uid"}


def reference_to(podset: Json, **more: bool) -> Json:
    return {
        "apiVersion": PODSETS.api_version,
        "kind": PODSETS.kind,
        "name": podset["metadata"]["name"],
        "uid": uid_of(podset),
        **more,
    }


async def controller_uid(world: World, name: str) -> str | None:
    owner = controller_of(await world.get(PODS, name))
    return owner.uid if owner is not None else None


async def test_a_pod_that_names_the_podset_as_an_owner_becomes_its_own(world: World) -> None:
    podset = await world.podset(1)
    pod = bare_pod("mentions")
    pod["metadata"]["ownerReferences"] = [reference_to(podset)]
    await world.create(PODS, pod)

    async with running_controllers(world.api, world.namespace):
        await world.has_status(PODSETS, replicas=1)

    (only,) = await world.all(PODS)
    assert await controller_uid(world, "mentions") == uid_of(podset)
    assert [each.uid for each in owner_references_of(only)] == [uid_of(podset)]


async def test_a_pod_with_an_owner_that_does_not_control_it_is_adopted_beside_it(
    world: World,
) -> None:
    pod = bare_pod("owned")
    pod["metadata"]["ownerReferences"] = [FOREIGN]
    await world.create(PODS, pod)

    async with running_controllers(world.api, world.namespace):
        podset = await world.podset(1)
        await world.has_status(PODSETS, replicas=1)

    (only,) = await world.all(PODS)
    owners = {each.uid for each in owner_references_of(only)}
    assert owners == {"other-uid", uid_of(podset)}
    assert await controller_uid(world, "owned") == uid_of(podset)


async def test_a_pod_is_adopted_once_its_controller_lets_it_go(controlled: World) -> None:
    pod = bare_pod("held")
    pod["metadata"]["ownerReferences"] = [FOREIGN | {"controller": True}]
    await controlled.create(PODS, pod)
    podset = await controlled.podset(1)
    await controlled.has_pods(2)
    await controlled.scale(PODSETS, "web", 2)
    await controlled.has_pods(3)

    await controlled.patch(PODS, "held", {"metadata": {"ownerReferences": [FOREIGN]}})

    await controlled.has_pods(2)
    await controlled.has_status(PODSETS, replicas=2)
    owners = [controller_of(each) for each in await controlled.pods()]
    assert {owner and owner.uid for owner in owners} == {uid_of(podset)}


async def test_an_orphan_that_is_going_is_not_adopted(controlled: World) -> None:
    await controlled.create(PODS, bare_pod("going"))
    await controlled.bind(await controlled.get(PODS, "going"))
    await controlled.delete(PODS, "going")

    await controlled.podset(1)

    await controlled.has_status(PODSETS, replicas=1, terminatingReplicas=0)
    assert await controller_uid(controlled, "going") is None
    await controlled.finish_terminations()


async def test_an_orphan_is_adopted_when_its_labels_begin_to_match(controlled: World) -> None:
    late = bare_pod("late", app="other")
    late["metadata"]["annotations"] = {POD_DELETION_COST: "100"}
    await controlled.create(PODS, late)
    podset = await controlled.podset(1)
    await controlled.has_pods(1, selector="app=web")

    await controlled.patch(PODS, "late", {"metadata": {"labels": {"app": "web"}}})

    async def is_the_one_that_stays() -> None:
        (only,) = await controlled.pods()
        assert only["metadata"]["name"] == "late"
        assert await controller_uid(controlled, "late") == uid_of(podset)

    await controlled.eventually(is_the_one_that_stays)
