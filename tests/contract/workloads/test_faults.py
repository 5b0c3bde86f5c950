"""Broken networks and busy servers: never a pod too many, and level in the end."""

from collections.abc import AsyncIterator

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import PODS, Json, uid_of
from tests.contract.workloads.census import census
from tests.contract.workloads.world import World, bare_pod, running_controllers
from tests.faults import faults
from tests.faults.proxy import WATCHES, FaultProxy, Seen, requests
from workloads.names import PODSETS, ROLLOUTS

pytestmark = pytest.mark.contract

POSTS = requests(method="POST", part="/pods")
POD_DELETIONS = requests(method="DELETE", part="/pods/")
PODSET_POSTS = requests(method="POST", part="/podsets")
STATUS_WRITES = requests(method="PUT", part="/status")
OWNER_READS = requests(method="GET", part="/podsets/web")


def is_pod_watch(seen: Seen) -> bool:
    return seen.is_watch and seen.path.endswith("/pods")


@pytest.fixture
async def disturbed(world: World, proxy: FaultProxy) -> AsyncIterator[World]:
    """Controllers whose requests go through the proxy; the test's own do not."""
    client = await ApiClient.connect(
        kubeconfig=str(proxy.kubeconfig), user_agent="levelset-tests", timeout_seconds=2
    )
    async with client, running_controllers(client, world.namespace):
        yield world


async def has_exactly(world: World, count: int) -> None:
    """Wait for so many pods, and make sure that it stays so."""
    await world.has_pods(count)
    await world.has_status(PODSETS, replicas=count)
    await world.stays(lambda: world.has_pods(count))


async def test_a_creation_whose_answer_was_lost_makes_no_twin(
    disturbed: World, proxy: FaultProxy
) -> None:
    proxy.fail(faults.lose_answer(), when=POSTS, times=3)

    async with census(disturbed.api, disturbed.namespace) as counted:
        await disturbed.podset(5)
        await has_exactly(disturbed, 5)

    assert proxy.pending == 0
    assert (counted.most, counted.created) == (5, 5)


async def test_a_creation_that_timed_out_is_repeated_under_its_name(
    disturbed: World, proxy: FaultProxy
) -> None:
    proxy.fail(faults.silence(), when=POSTS)

    async with census(disturbed.api, disturbed.namespace) as counted:
        await disturbed.podset(4)
        await has_exactly(disturbed, 4)

    assert counted.created == 4


@pytest.mark.parametrize("asking_fails", [False, True])
async def test_a_refusal_says_nothing_of_an_earlier_try_whose_answer_was_lost(
    disturbed: World, proxy: FaultProxy, *, asking_fails: bool
) -> None:
    proxy.fail(faults.stall_stream(), when=is_pod_watch, times=None)
    proxy.cut_watches()
    refused = faults.answer(403, reason="Forbidden")
    proxy.fail(faults.lose_answer(), when=POSTS)
    proxy.fail(refused, when=POSTS)
    if asking_fails:
        proxy.fail(refused, when=requests(method="GET", part="/pods/"))

    async with census(disturbed.api, disturbed.namespace) as counted:
        await disturbed.podset(3)
        # Nobody sees what was made, so that only what is known of it keeps from making more.
        await disturbed.stays(lambda: disturbed.has_pods(3))
        proxy.clear()
        proxy.cut_watches()
        await has_exactly(disturbed, 3)

    assert (counted.most, counted.created) == (3, 3)


async def test_creations_that_stay_unknown_are_looked_for_before_more_are_made(
    disturbed: World, proxy: FaultProxy
) -> None:
    proxy.fail(faults.lose_answer(), when=POSTS, times=1)
    proxy.fail(faults.answer(500), when=POSTS, times=3)

    async with census(disturbed.api, disturbed.namespace) as counted:
        await disturbed.podset(3)
        await has_exactly(disturbed, 3)

    assert counted.most == 3


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_server_is_waited_for(
    disturbed: World, proxy: FaultProxy, status: int
) -> None:
    proxy.fail(faults.answer(status, retry_after=1), when=POSTS, times=4)

    async with census(disturbed.api, disturbed.namespace) as counted:
        await disturbed.podset(6)
        await has_exactly(disturbed, 6)

    assert (counted.most, counted.created) == (6, 6)


async def test_a_watch_that_stands_still_makes_nobody_create_twice(
    disturbed: World, proxy: FaultProxy
) -> None:
    await disturbed.podset(2)
    await has_exactly(disturbed, 2)
    proxy.fail(faults.delay(3), when=WATCHES, times=None)
    proxy.cut_watches()

    async with census(disturbed.api, disturbed.namespace) as counted:
        await disturbed.scale(PODSETS, "web", 6)
        await has_exactly(disturbed, 6)

    assert counted.most == 6


async def test_a_watch_frozen_for_longer_than_we_trust_it_makes_no_pod_too_many(
    world: World, proxy: FaultProxy
) -> None:
    client = await ApiClient.connect(
        kubeconfig=str(proxy.kubeconfig), user_agent="levelset-tests", timeout_seconds=2
    )
    controllers = running_controllers(client, world.namespace, expectation_seconds=1.0)
    async with client, controllers, census(world.api, world.namespace) as counted:
        proxy.fail(faults.stall_stream(), when=is_pod_watch, times=None)
        before = proxy.count(is_pod_watch)
        proxy.cut_watches()

        async def is_frozen() -> None:
            assert proxy.count(is_pod_watch) > before

        await world.eventually(is_frozen)
        await world.podset(5)
        await has_exactly(world, 5)
        await world.scale(PODSETS, "web", 8)
        await has_exactly(world, 8)

        assert (counted.most, counted.created) == (8, 8)


async def test_a_hundred_deletions_behind_a_history_that_is_gone_are_all_made_up_for(
    disturbed: World, proxy: FaultProxy
) -> None:
    await disturbed.podset(100)
    old = await disturbed.has_pods(100)
    await disturbed.has_status(PODSETS, replicas=100)

    async with census(disturbed.api, disturbed.namespace) as counted:
        proxy.fail(faults.answer(410, reason="Expired"), when=WATCHES, times=6)
        proxy.cut_watches()
        path = PODS.path(namespace=disturbed.namespace)
        await disturbed.api.request("DELETE", path)

        async def are_replaced() -> None:
            new = uids(await disturbed.pods())
            assert len(new - uids(old)) == 100, len(new)

        await disturbed.eventually(are_replaced)
        await has_exactly(disturbed, 100)

    assert counted.most <= 100


def uids(pods: list[Json]) -> set[str]:
    return {uid_of(pod) for pod in pods}


async def test_a_history_that_is_gone_loses_no_deletion(
    disturbed: World, proxy: FaultProxy
) -> None:
    await disturbed.podset(3)
    pods = await disturbed.has_pods(3)
    proxy.fail(faults.answer(410, reason="Expired"), when=WATCHES, times=3)
    proxy.cut_watches()

    await disturbed.delete(PODS, pods[0]["metadata"]["name"])

    await has_exactly(disturbed, 3)


async def test_deletions_whose_answers_were_lost_delete_no_other_pods(
    disturbed: World, proxy: FaultProxy
) -> None:
    await disturbed.podset(8)
    await has_exactly(disturbed, 8)
    proxy.fail(faults.lose_answer(), when=POD_DELETIONS, times=4)

    async with census(disturbed.api, disturbed.namespace) as counted:
        await disturbed.scale(PODSETS, "web", 4)
        await has_exactly(disturbed, 4)

    assert counted.created == 0


async def test_a_refused_deletion_says_nothing_of_an_earlier_try(
    disturbed: World, proxy: FaultProxy
) -> None:
    await disturbed.podset(4)
    await has_exactly(disturbed, 4)
    proxy.fail(faults.lose_answer(), when=POD_DELETIONS)
    proxy.fail(faults.answer(403, reason="Forbidden"), when=POD_DELETIONS)

    async with census(disturbed.api, disturbed.namespace) as counted:
        await disturbed.scale(PODSETS, "web", 3)
        await has_exactly(disturbed, 3)

    assert proxy.pending == 0
    assert counted.created == 0


async def test_a_status_write_that_failed_is_made_again(
    disturbed: World, proxy: FaultProxy
) -> None:
    proxy.fail(faults.answer(409, reason="Conflict"), when=STATUS_WRITES, times=2)
    proxy.fail(faults.answer(500), when=STATUS_WRITES, times=2)

    await disturbed.podset(2)

    await has_exactly(disturbed, 2)


async def test_no_pod_is_made_while_the_owner_cannot_be_asked(
    disturbed: World, proxy: FaultProxy
) -> None:
    proxy.fail(faults.answer(403, reason="Forbidden"), when=OWNER_READS, times=None)
    await disturbed.podset(2)

    await disturbed.stays(lambda: disturbed.has_pods(0))
    proxy.clear()

    await has_exactly(disturbed, 2)


async def test_a_revision_whose_creation_was_lost_is_made_once(
    disturbed: World, proxy: FaultProxy
) -> None:
    proxy.fail(faults.lose_answer(), when=PODSET_POSTS, times=2)

    await disturbed.rollout(2)

    await disturbed.has_status(ROLLOUTS, replicas=2, collisionCount=0)
    assert len(await disturbed.podsets()) == 1


async def test_a_refused_revision_is_told_and_then_made(
    disturbed: World, proxy: FaultProxy
) -> None:
    proxy.fail(faults.answer(403, reason="Forbidden"), when=PODSET_POSTS, times=None)
    await disturbed.rollout(1)

    async def is_told() -> None:
        progressing = await disturbed.condition(ROLLOUTS, "Progressing")
        assert (progressing["status"], progressing["reason"]) == ("False", "PodSetCreateError")
        await disturbed.has_condition(ROLLOUTS, "Stalled", "True")

    await disturbed.eventually(is_told)
    proxy.clear()

    async def is_going_on() -> None:
        await disturbed.has_condition(ROLLOUTS, "Progressing", "True")

    await disturbed.eventually(is_going_on)


async def test_an_adoption_that_was_refused_holds_creations_back(
    disturbed: World, proxy: FaultProxy
) -> None:
    await disturbed.create(PODS, bare_pod("orphan"))
    adoptions = requests(method="PATCH", part="/pods/orphan")
    proxy.fail(faults.answer(500), when=adoptions, times=4)

    async with census(disturbed.api, disturbed.namespace) as counted:
        await disturbed.podset(1)
        await has_exactly(disturbed, 1)

    assert counted.most == 1
    assert counted.created == 0
