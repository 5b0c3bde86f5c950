"""The machine's clock is put forward and back in the middle of rollouts; durations go on as before.

In this process, where the clock is a parameter. Pods must be ready for a second to count, so that
a date of theirs and the clock's are compared all the time.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta

import pytest

from exporters.instrument import Instruments
from kube_runtime.clock import SystemClock
from tests.chaos.end_state import is_level
from tests.chaos.scene import seed
from tests.chaos.tally import Tally
from tests.chaos.user import MAX_SURGE, rollout, template
from tests.chaos.witness import Witness
from tests.contract.workloads.world import World, running
from workloads.controllers import build_controllers
from workloads.names import ROLLOUTS
from workloads.settings import WorkloadsSettings

pytestmark = pytest.mark.contract

APP = "web"
REPLICAS = 4
# Forward, right again, back, right again: by more than everything but the deadline below.
JUMPS_SECONDS = (3600, 0, -3600, 0, 90, -90, 0)
DEADLINE_SECONDS = 86_400


class JumpingClock(SystemClock):
    """The machine's clock, put forward or back; what is measured by monotonic() is not."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        return super().now() + self.offset


@asynccontextmanager
async def jumping(world: World) -> AsyncIterator[JumpingClock]:
    """Run both controllers by a clock that jumps."""
    clock = JumpingClock()
    controllers = build_controllers(
        world.api,
        WorkloadsSettings(watch_namespace=world.namespace),
        instruments=Instruments("tests"),
        clock=clock,
    )
    async with running(*controllers.always):
        for informer in controllers.informers:
            await informer.wait_synced(10)
        async with running(*controllers.leading, world.run_kubelet):
            yield clock


async def test_a_clock_that_jumps_during_a_rollout_changes_nothing_in_the_end(
    world: World,
) -> None:
    tally = Tally.open("clock jumps", seed(1))
    witness = Witness(world.api, world.namespace, tally)

    async with jumping(world) as clock, witness.watching():
        witness.ask(APP, REPLICAS + MAX_SURGE)
        body = rollout(APP, REPLICAS, minReadySeconds=1, progressDeadlineSeconds=DEADLINE_SECONDS)
        await world.create(ROLLOUTS, body)
        for number, offset in enumerate(JUMPS_SECONDS):
            change = {"spec": {"template": template(APP, number + 2)}}
            await world.patch(ROLLOUTS, APP, change)
            await _has_begun(world, number + 2)
            clock.offset = timedelta(seconds=offset)
            tally.fault("clock jump")
            await asyncio.sleep(0.2)
        await is_level(world.api, world.namespace, [APP], tally, seconds=30)

    assert tally.violations == []


async def _has_begun(world: World, image: int) -> None:
    """Wait until the first pod of the template is there."""

    async def check() -> None:
        pods = await world.pods()
        wanted = f"registry.example/web:{image}"
        assert any(pod["spec"]["containers"][0]["image"] == wanted for pod in pods)

    await world.eventually(check)
