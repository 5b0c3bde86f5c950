"""The demo notices at once when one of its programs ends, and passes on what its story raises."""

import asyncio
import os
from pathlib import Path

import pytest

from levelset.demo import play
from levelset.demo.errors import DemoFailedError
from levelset.demo.stage import Stage
from local_cluster.process import Identity, Program
from local_cluster.provider import Cluster

CLUSTER = Cluster("demo", Path("kubeconfig"), "https://test", "127.0.0.1")


def stage_with(tmp_path: Path, *, is_alive: bool) -> Stage:

    me = Identity.of(os.getpid())
    assert me is not None
    identity = me if is_alive else Identity(me.pid, me.started + 1)
    return Stage(tmp_path, keep=False, programs=[Program("web", identity, tmp_path / "web.log")])


async def for_ever() -> Cluster:
    await asyncio.Event().wait()
    return CLUSTER


async def at_once() -> Cluster:
    return CLUSTER


async def failing() -> Cluster:
    raise DemoFailedError("a claim did not hold")


async def test_a_program_that_ends_ends_the_demo(tmp_path: Path) -> None:
    stage = stage_with(tmp_path, is_alive=False)

    with pytest.raises(DemoFailedError, match="web has ended"):
        async with asyncio.timeout(5):
            await play._watched(stage, for_ever())


async def test_a_demo_whose_programs_live_plays_to_its_end(tmp_path: Path) -> None:
    stage = stage_with(tmp_path, is_alive=True)

    assert await play._watched(stage, at_once()) is CLUSTER


async def test_a_claim_that_does_not_hold_is_passed_on(tmp_path: Path) -> None:
    stage = stage_with(tmp_path, is_alive=True)

    with pytest.raises(DemoFailedError, match="a claim did not hold"):
        await play._watched(stage, failing())


async def test_an_interruption_ends_the_story_too(tmp_path: Path) -> None:
    stage = stage_with(tmp_path, is_alive=True)
    has_ended = asyncio.Event()

    async def story() -> Cluster:
        try:
            return await for_ever()
        finally:
            has_ended.set()

    playing = asyncio.create_task(play._watched(stage, story()))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    playing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await playing
    assert has_ended.is_set()
