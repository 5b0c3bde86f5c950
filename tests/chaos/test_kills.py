"""kill -9 of the leading process at random moments, across a run of rollouts.

$LEVELSET_CHAOS_KILLS says how many (200); $LEVELSET_CHAOS_SEED repeats a run.
"""

import os
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from local_cluster.control_plane import ControlPlane
from tests.chaos.kills import kill_at_random
from tests.chaos.scene import busy, scene, seed, users
from tests.chaos.tally import Tally

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(1200)]

KILLS = int(os.environ.get("LEVELSET_CHAOS_KILLS", "200"))


async def test_no_kill_makes_a_pod_too_many_or_loses_a_revision(
    plane: ControlPlane, admin: ApiClient, tmp_path: Path
) -> None:
    tally = Tally.open(f"{KILLS} kills", seed())

    async with scene(tally, admin, tmp_path, kubeconfigs=users(plane, 2)) as played:
        async with busy(played.user):
            await kill_at_random(played, kills=KILLS)
        await played.user.finish()
        await played.is_level()

    tally.check("orders given", holds=played.user.orders >= KILLS // 4)
    assert tally.violations == []
    assert tally.faults["kill -9"] >= KILLS
