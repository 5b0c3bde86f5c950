"""`levelset rollout history|undo|pause|resume|restart|retry` against a real API server."""

import asyncio

import pytest

from kube_runtime.resource import annotations_of
from levelset.rollout.changes import RESTARTED_AT
from tests.contract.levelset_rollout.conftest import Cli
from tests.contract.workloads.world import World, image_of
from workloads.names import ROLLOUTS

pytestmark = pytest.mark.contract

CAUSE = "kubernetes.io/change-cause"


@pytest.fixture
async def twice(live: World) -> World:
    """A Rollout with two complete revisions, and why there is a second."""
    await live.rollout(1)
    await live.is_complete()
    because = {"metadata": {"annotations": {CAUSE: "a better image"}}}
    await live.patch(ROLLOUTS, "web", because)
    await live.set_image("web:2")
    await live.is_complete(revision=2)
    return live


async def image(world: World) -> str:
    return image_of(await world.get(ROLLOUTS, "web"))


async def test_the_history_lists_revisions_and_their_causes(twice: World, levelset: Cli) -> None:
    said = await levelset("rollout", "history", "ro/web")

    lines = said.out.splitlines()
    assert said.code == 0
    assert lines[:2] == ["rollout.levelset.dev/web", "REVISION  CHANGE-CAUSE"]
    assert [line.split()[0] for line in lines[2:4]] == ["1", "2"]
    assert lines[3].endswith("a better image")


async def test_the_history_shows_the_template_of_a_revision(twice: World, levelset: Cli) -> None:
    there = await levelset("rollout", "history", "web", "--revision=1")
    absent = await levelset("rollout", "history", "web", "--revision=9")

    assert there.code == 0
    assert there.out.startswith("rollout.levelset.dev/web with revision #1\nPod Template:\n")
    assert "image: web:1" in there.out
    assert absent.code == 1
    assert absent.err == ("levelset: unable to find the specified revision 9; there are: 1, 2\n")


async def test_undo_goes_back_and_forth(twice: World, levelset: Cli) -> None:
    back = await levelset("rollout", "undo", "ro/web")

    assert (back.code, back.out) == (0, "rollout.levelset.dev/web rolled back\n")
    assert await image(twice) == "web:1"
    await twice.is_complete(revision=3)

    forth = await levelset("rollout", "undo", "ro/web", "--to-revision=2")

    assert forth.code == 0, forth
    assert await image(twice) == "web:2"
    assert annotations_of(await twice.get(ROLLOUTS, "web"))[CAUSE] == "a better image"
    await twice.is_complete(revision=4)


async def test_undo_leaves_no_hash_in_the_template(twice: World, levelset: Cli) -> None:
    await levelset("rollout", "undo", "web")

    template = (await twice.get(ROLLOUTS, "web"))["spec"]["template"]
    assert template["metadata"]["labels"] == {"app": "web"}


async def test_undo_to_where_it_is_does_nothing(twice: World, levelset: Cli) -> None:
    before = await twice.get(ROLLOUTS, "web")

    said = await levelset("rollout", "undo", "web", "--to-revision=2")

    assert said.code == 0
    assert said.out == (
        "rollout.levelset.dev/web skipped rollback (current template already matches revision 2)\n"
    )
    assert (await twice.get(ROLLOUTS, "web"))["metadata"]["generation"] == (
        before["metadata"]["generation"]
    )


@pytest.mark.parametrize("dry_run", ["--dry-run", "--dry-run=server"])
async def test_a_dry_run_of_undo_writes_nothing(twice: World, levelset: Cli, dry_run: str) -> None:
    said = await levelset("rollout", "undo", dry_run, "web")

    assert said.code == 0, said
    assert "dry run)" in said.out
    assert await image(twice) == "web:2"


async def test_undo_to_what_is_not_there_or_while_paused_is_refused(
    twice: World, levelset: Cli
) -> None:
    absent = await levelset("rollout", "undo", "web", "--to-revision=9")
    await twice.patch(ROLLOUTS, "web", {"spec": {"paused": True}})
    paused = await levelset("rollout", "undo", "web")

    assert (absent.code, paused.code) == (1, 1)
    assert "unable to find the specified revision 9" in absent.err
    assert "you cannot rollback a paused rollout; resume it first" in paused.err
    assert await image(twice) == "web:2"


async def test_undo_comes_through_although_somebody_writes_all_the_time(
    twice: World, levelset: Cli
) -> None:
    async def scribble() -> None:
        number = 0
        while True:
            number += 1
            note = {"metadata": {"annotations": {"note": str(number)}}}
            await twice.patch(ROLLOUTS, "web", note)
            await asyncio.sleep(0.01)

    scribbling = asyncio.create_task(scribble())
    said = await levelset("rollout", "undo", "web")
    scribbling.cancel()
    await asyncio.gather(scribbling, return_exceptions=True)

    assert said.code == 0, said
    assert await image(twice) == "web:1"


async def test_pause_holds_and_resume_lets_go(live: World, levelset: Cli) -> None:
    await live.rollout(1)
    await live.is_complete()

    paused = await levelset("rollout", "pause", "ro/web")
    again = await levelset("rollout", "pause", "ro/web")
    await live.set_image("web:2")
    await live.has_status(ROLLOUTS, revision=1, updatedReplicas=0)
    resumed = await levelset("rollout", "resume", "ro/web")
    await live.is_complete(revision=2)
    resumed_again = await levelset("rollout", "resume", "ro/web")

    assert (paused.code, paused.out) == (0, "rollout.levelset.dev/web paused\n")
    assert (again.code, again.err) == (
        1,
        'levelset: rollouts.levelset.dev "web" is already paused\n',
    )
    assert (resumed.code, resumed.out) == (0, "rollout.levelset.dev/web resumed\n")
    assert resumed_again.code == 1
    assert "is not paused" in resumed_again.err


async def test_restart_replaces_the_pods(live: World, levelset: Cli) -> None:
    await live.rollout(1)
    await live.is_complete()
    (before,) = await live.pods()

    said = await levelset("rollout", "restart", "ro/web")

    assert (said.code, said.out) == (0, "rollout.levelset.dev/web restarted\n")
    await live.is_complete(revision=2)
    (after,) = await live.pods()
    assert RESTARTED_AT in annotations_of(after)
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


async def test_several_are_done_although_one_is_not_there(live: World, levelset: Cli) -> None:
    await live.rollout(1)

    said = await levelset("rollout", "restart", "ro/nobody", "ro/web")

    assert said.code == 1
    assert said.out == "rollout.levelset.dev/web restarted\n"
    assert '"nobody" not found' in said.err


async def test_retry_without_a_held_revision_is_refused(live: World, levelset: Cli) -> None:
    await live.rollout(1)
    await live.is_complete()

    said = await levelset("rollout", "retry", "web")

    assert said.code == 1
    assert said.err == 'levelset: rollouts.levelset.dev "web" has no held revision\n'
