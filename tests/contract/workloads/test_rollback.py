"""A revision that fails makes way for the last good one, against a real API server."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

from kube_runtime.errors import NotFound
from kube_runtime.resource import PODS, Json, uid_of
from tests.contract.workloads.world import World, image_of, revision, running_controllers
from workloads.names import PODSETS, RETRY, ROLLOUTS

pytestmark = pytest.mark.contract


async def sizes(world: World) -> dict[str, int]:
    return {image_of(each): each["spec"]["replicas"] for each in await world.podsets()}


async def is_held(world: World, reason: str, *, good: int = 1) -> Json:
    """Wait until the spec's revision is held and the good one is back in full."""

    async def check() -> None:
        status = await world.status(ROLLOUTS)
        assert (status.get("held") or {}).get("reason") == reason, status
        await world.has_condition(ROLLOUTS, "RolledBack", "True")
        assert status["revision"] == good, status

    await world.eventually(check, seconds=30)
    held: Json = (await world.status(ROLLOUTS))["held"]
    return held


async def restart(world: World, pod: Json, times: int) -> None:
    """Say that the pod's container was restarted so often."""
    container = {
        "name": "web",
        "image": "web:2",
        "imageID": "",
        "ready": False,
        "restartCount": times,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}},
    }
    body = {"status": {"phase": "Running", "containerStatuses": [container]}}
    with contextlib.suppress(NotFound):
        await world.patch(PODS, pod["metadata"]["name"], body, subresource="status")


@contextlib.asynccontextmanager
async def fewest_available(world: World) -> AsyncIterator[list[int]]:
    """Note how many pods are ready, again and again."""
    seen: list[int] = []

    async def look() -> None:
        while True:
            seen.append(sum("conditions" in pod["status"] for pod in await world.pods()))
            await asyncio.sleep(0.02)

    task = asyncio.create_task(look())
    try:
        yield seen
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_revision_past_its_deadline_makes_way_and_the_spec_stays(live: World) -> None:
    live.broken_images.add("web:2")
    await live.rollout(
        4,
        progressDeadlineSeconds=4,
        strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}},
    )
    await live.is_complete()
    first = await live.podset_of("web:1")

    async with fewest_available(live) as seen:
        await live.set_image("web:2")
        held = await is_held(live, "ProgressDeadlineExceeded")

    assert min(seen) >= 3
    assert await sizes(live) == {"web:1": 4, "web:2": 0}
    assert (held["revision"], held["podSet"]) == (
        2,
        (await live.podset_of("web:2"))["metadata"]["name"],
    )
    again = await live.podset_of("web:1")
    assert (uid_of(again), revision(again)) == (uid_of(first), "1")
    obj = await live.get(ROLLOUTS, "web")
    assert image_of(obj) == "web:2"
    await live.has_condition(ROLLOUTS, "Ready", "False")
    await live.has_condition(ROLLOUTS, "Stalled", "True")
    await live.has_condition(ROLLOUTS, "Available", "True")
    (event,) = await live.events("RolledBack")
    assert "going back to revision 1" in event


async def test_a_new_template_releases_what_is_held(live: World) -> None:
    live.broken_images.add("web:2")
    await live.rollout(2, progressDeadlineSeconds=4)
    await live.is_complete()
    await live.set_image("web:2")
    await is_held(live, "ProgressDeadlineExceeded")

    await live.set_image("web:3")

    await live.is_complete(revision=3)
    status = await live.status(ROLLOUTS)
    assert "held" not in status
    assert status["knownGood"]["revision"] == 3
    assert await live.condition(ROLLOUTS, "RolledBack") == {}
    assert await live.condition(ROLLOUTS, "Stalled") == {}


async def test_a_retry_releases_what_is_held_once(live: World) -> None:
    live.broken_images.add("web:2")
    await live.rollout(2, progressDeadlineSeconds=4)
    await live.is_complete()
    await live.set_image("web:2")
    await is_held(live, "ProgressDeadlineExceeded")

    await live.patch(ROLLOUTS, "web", {"metadata": {"annotations": {RETRY: "1"}}})

    async def is_held_anew() -> None:
        assert (await live.status(ROLLOUTS))["held"]["retry"] == "1"

    await live.eventually(is_held_anew)
    live.broken_images.clear()
    await live.patch(ROLLOUTS, "web", {"metadata": {"annotations": {RETRY: "2"}}})
    await live.is_complete(revision=2)
    assert await sizes(live) == {"web:1": 0, "web:2": 2}


async def test_too_many_restarts_end_a_revision_before_its_deadline(live: World) -> None:
    live.broken_images.add("web:2")
    await live.rollout(2, rollback={"maxRestarts": 3})
    await live.is_complete()
    await live.set_image("web:2")

    async def crashes() -> None:
        pods = [pod for pod in await live.pods() if image_of_pod(pod) == "web:2"]
        assert pods
        await restart(live, pods[0], 4)

    await live.eventually(crashes)

    held = await is_held(live, "TooManyRestarts")
    assert held["message"] == "4 restarts, at most 3 expected"


async def test_a_crash_loop_that_lasts_ends_a_revision(live: World) -> None:
    live.broken_images.add("web:2")
    await live.rollout(2, rollback={"crashLoopSeconds": 1})
    await live.is_complete()
    await live.set_image("web:2")

    async def crashes() -> None:
        pods = [pod for pod in await live.pods() if image_of_pod(pod) == "web:2"]
        assert pods
        await restart(live, pods[0], 1)

    await live.eventually(crashes)

    await is_held(live, "CrashLoop")


async def test_without_a_good_revision_a_failure_is_only_reported(controlled: World) -> None:
    await controlled.rollout(1, progressDeadlineSeconds=1)

    async def is_reported() -> None:
        progressing = await controlled.condition(ROLLOUTS, "Progressing")
        assert progressing["reason"] == "ProgressDeadlineExceeded"

    await controlled.eventually(is_reported)
    assert "held" not in await controlled.status(ROLLOUTS)


async def test_a_held_rollout_scales(live: World) -> None:
    live.broken_images.add("web:2")
    await live.rollout(2, progressDeadlineSeconds=4)
    await live.is_complete()
    await live.set_image("web:2")
    await is_held(live, "ProgressDeadlineExceeded")

    for size in (5, 1):
        await live.scale(ROLLOUTS, "web", size)
        await live.has_status(ROLLOUTS, replicas=size, availableReplicas=size)

    assert await sizes(live) == {"web:1": 1, "web:2": 0}
    assert (await live.status(ROLLOUTS))["held"]["revision"] == 2


async def test_another_controller_goes_on_with_what_is_held(world: World) -> None:
    kubelet = asyncio.create_task(world.run_kubelet())
    world.broken_images.add("web:2")
    async with running_controllers(world.api, world.namespace):
        await world.rollout(2, progressDeadlineSeconds=4)
        await world.is_complete()
        await world.set_image("web:2")
        await is_held(world, "ProgressDeadlineExceeded")
    before = await world.status(ROLLOUTS)

    async with running_controllers(world.api, world.namespace):

        async def is_the_same() -> None:
            assert await world.status(ROLLOUTS) == before

        await world.stays(is_the_same)
        await world.set_image("web:3")
        await world.is_complete(revision=3)
    kubelet.cancel()


async def test_the_good_revision_outlives_its_history(live: World) -> None:
    await live.rollout(1, progressDeadlineSeconds=4, revisionHistoryLimit=0)
    await live.is_complete()
    live.broken_images.update({"web:2", "web:3"})
    for version in (2, 3):
        await live.set_image(f"web:{version}")
        await is_held(live, "ProgressDeadlineExceeded")

    async def is_tidy() -> None:
        assert await sizes(live) == {"web:1": 1, "web:3": 0}

    await live.eventually(is_tidy)


async def test_going_back_while_the_new_pod_is_pending_keeps_the_good_one(live: World) -> None:
    live.broken_images.add("web:2")
    strategy: dict[str, Any] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    await live.rollout(1, strategy=strategy)
    await live.is_complete()
    (good,) = await live.pods()
    await live.set_image("web:2")
    await live.has_pods(2)

    await live.set_image("web:1")

    await live.is_complete()
    (left,) = await live.has_pods(1)
    assert uid_of(left) == uid_of(good)
    assert len(await live.all(PODSETS)) == 2


def image_of_pod(pod: Json) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image
