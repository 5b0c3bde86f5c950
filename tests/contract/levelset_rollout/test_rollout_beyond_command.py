"""The commands on what a Deployment lacks: steps and held revisions."""

import asyncio

import pytest

from tests.contract.levelset_rollout.conftest import Cli
from tests.contract.workloads.world import World, image_of
from workloads.names import ROLLOUTS

pytestmark = pytest.mark.contract

STEPS = [{"replicas": 1}, {"pause": {}}]


async def test_a_pause_step_waits_until_it_is_resumed(live: World, levelset: Cli) -> None:
    await live.rollout(2, steps=STEPS)
    await live.is_complete()
    await live.set_image("web:2")

    async def waits() -> None:
        step = (await live.status(ROLLOUTS)).get("step") or {}
        assert (step.get("index"), step.get("state")) == (1, "Paused"), step

    await live.eventually(waits)
    looked = await levelset("rollout", "status", "web", "--watch=false")
    following = asyncio.create_task(levelset("rollout", "status", "web"))
    resumed = await levelset("rollout", "resume", "web")
    done = await following

    assert "step 2 of 2, pause until resumed" in looked.out
    assert (resumed.code, resumed.out) == (0, "rollout.levelset.dev/web resumed\n")
    assert done.code == 0, done
    await live.is_complete(revision=2)


async def test_a_held_revision_is_a_failure_with_ways_out(live: World, levelset: Cli) -> None:
    live.broken_images.add("web:2")
    await live.rollout(1, progressDeadlineSeconds=4)
    await live.is_complete()
    await live.set_image("web:2")

    failed = await levelset("rollout", "status", "web", "--timeout=30s")

    async def is_held() -> None:
        assert (await live.status(ROLLOUTS))["held"]["revision"] == 2

    await live.eventually(is_held)
    history = await levelset("rollout", "history", "web")
    skipped = await levelset("rollout", "undo", "web", "--to-revision=2")
    live.broken_images.clear()
    retried = await levelset("rollout", "retry", "web")
    done = await levelset("rollout", "status", "web", "--timeout=30s")

    assert failed.code == 1
    assert "ProgressDeadlineExceeded" in failed.err or "exceeded its progress" in failed.err
    assert "held: revision 2" in history.out
    assert "skipped rollback" in skipped.out
    assert "release it with: kubectl levelset rollout retry" in skipped.err
    assert (retried.code, retried.out) == (0, "rollout.levelset.dev/web retried\n")
    assert done.code == 0, done


async def test_undo_of_a_held_revision_puts_the_spec_where_the_pods_are(
    live: World, levelset: Cli
) -> None:
    live.broken_images.add("web:2")
    await live.rollout(1, progressDeadlineSeconds=4)
    await live.is_complete()
    await live.set_image("web:2")

    async def is_held() -> None:
        assert (await live.status(ROLLOUTS))["held"]["revision"] == 2

    await live.eventually(is_held)

    undone = await levelset("rollout", "undo", "web")
    done = await levelset("rollout", "status", "web", "--timeout=30s")

    assert (undone.code, done.code) == (0, 0), (undone, done)
    assert image_of(await live.get(ROLLOUTS, "web")) == "web:1"
    assert "held" not in await live.status(ROLLOUTS)
