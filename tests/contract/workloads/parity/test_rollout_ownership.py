"""Which PodSets a Rollout takes, lets go and takes back."""

import pytest

from kube_runtime.resource import PODS, Json, controller_of, owner_references_of, uid_of
from tests.contract.workloads.world import World, podset, running_controllers, template
from workloads.names import PODSETS, ROLLOUTS

pytestmark = pytest.mark.contract


def owner_uid(obj: Json) -> str | None:
    owner = controller_of(obj)
    return owner.uid if owner is not None else None


async def play_the_garbage_collector(world: World) -> None:
    """Do what `--cascade=orphan` asks of it: it does not run on the shared control plane."""
    for each in await world.podsets():
        body = {"metadata": {"ownerReferences": None}}
        await world.patch(PODSETS, each["metadata"]["name"], body)
    for each in await world.all(ROLLOUTS):
        await world.patch(ROLLOUTS, each["metadata"]["name"], {"metadata": {"finalizers": None}})


async def test_a_rollout_created_anew_takes_over_without_touching_a_pod(live: World) -> None:
    old = await live.rollout(2)
    await live.is_complete()
    pods = {uid_of(pod) for pod in await live.pods()}
    await live.delete(ROLLOUTS, "web", propagation_policy="Orphan")
    await play_the_garbage_collector(live)
    assert await live.all(ROLLOUTS) == []

    new = await live.rollout(2)

    await live.is_complete(replicas=2, updatedReplicas=2)
    (adopted,) = await live.podsets()
    assert owner_uid(adopted) == uid_of(new) != uid_of(old)
    assert {uid_of(pod) for pod in await live.pods()} == pods


async def test_a_podset_that_names_the_rollout_as_an_owner_becomes_its_own(world: World) -> None:
    labels = {"app": "web", "version": "old"}
    created = await world.rollout(0)
    mentions = podset("mentions", 0, selector={"matchLabels": labels})
    mentions["spec"]["template"] = template("web:0", version="old")
    reference = {
        "apiVersion": ROLLOUTS.api_version,
        "kind": ROLLOUTS.kind,
        "name": "web",
        "uid": uid_of(created),
    }
    mentions["metadata"] |= {"labels": labels, "ownerReferences": [reference]}
    await world.create(PODSETS, mentions)

    async with running_controllers(world.api, world.namespace):

        async def is_its_own() -> None:
            found = await world.get(PODSETS, "mentions")
            assert owner_uid(found) == uid_of(created)
            assert len(owner_references_of(found)) == 1

        await world.eventually(is_its_own)


async def test_a_released_podset_is_taken_back_when_it_matches_again(live: World) -> None:
    created = await live.rollout(1)
    await live.is_complete()
    (only,) = await live.podsets()
    name = only["metadata"]["name"]

    await live.patch(PODSETS, name, {"metadata": {"labels": {"app": "other"}}})

    async def is_replaced() -> None:
        assert owner_uid(await live.get(PODSETS, name)) is None
        assert len(await live.podsets()) == 2

    await live.eventually(is_replaced)
    await live.is_complete()
    await live.patch(PODSETS, name, {"metadata": {"labels": {"app": "web"}}})

    async def is_back() -> None:
        found = await live.get(PODSETS, name)
        assert owner_uid(found) == uid_of(created)
        assert found["spec"]["replicas"] == 1  # of two with this template the older one is it
        assert len(await live.pods()) == 1

    await live.eventually(is_back)
    await live.is_complete(replicas=1)


async def test_two_rollouts_with_one_selector_leave_each_other_alone(live: World) -> None:
    one = await live.rollout(2, "one")
    two = await live.rollout(3, "two")
    await live.is_complete("one", replicas=2)
    await live.is_complete("two", replicas=3)

    await live.set_image("web:2", name="one")
    await live.scale(ROLLOUTS, "two", 1)

    await live.is_complete("one", replicas=2, revision=2)
    await live.is_complete("two", replicas=1, revision=1)
    owners = [owner_uid(each) for each in await live.podsets()]
    assert sorted(map(str, owners)) == sorted([uid_of(one), uid_of(one), uid_of(two)])
    assert len(await live.all(PODS)) == 3
