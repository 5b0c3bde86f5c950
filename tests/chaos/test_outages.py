"""The API server is away for a minute in the middle of rollouts: killed, and frozen."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeAlias

import pytest

from kube_runtime.api import ApiClient
from local_cluster.control_plane import ControlPlane
from tests.chaos import outage
from tests.chaos.scene import busy, scene, seed, users
from tests.chaos.tally import Tally

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

SECONDS = float(os.environ.get("LEVELSET_CHAOS_OUTAGE_SECONDS", "60"))
_Outage: TypeAlias = Callable[[ControlPlane, ApiClient], AbstractAsyncContextManager[None]]


@pytest.mark.parametrize("away", [outage.killed, outage.frozen], ids=["killed", "frozen"])
async def test_a_minute_without_the_api_server_is_made_up_for(
    plane: ControlPlane, admin: ApiClient, tmp_path: Path, away: _Outage
) -> None:
    tally = Tally.open(f"API server away for {SECONDS:.0f} s, {away.__name__}", seed())

    async with scene(tally, admin, tmp_path, kubeconfigs=users(plane, 2)) as played:
        async with busy(played.user):
            await asyncio.sleep(played.rng.uniform(1, 3))
            async with away(plane, admin):
                tally.fault("outage")
                await asyncio.sleep(SECONDS)
            await asyncio.sleep(played.rng.uniform(1, 3))
        await played.user.finish()
        await played.is_level()

    assert tally.violations == []
