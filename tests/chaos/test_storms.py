"""429 and 500 storms, lost answers, watches cut, late and standing still, all at random."""

import os
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from local_cluster.control_plane import ControlPlane
from tests.chaos.scene import busy, scene, seed
from tests.chaos.storm import Storm
from tests.chaos.tally import Tally
from tests.faults.proxy import FaultProxy

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

SECONDS = float(os.environ.get("LEVELSET_CHAOS_STORM_SECONDS", "90"))


async def test_a_storm_passes_and_everything_is_level(
    plane: ControlPlane, admin: ApiClient, tmp_path: Path
) -> None:
    tally = Tally.open(f"storm of {SECONDS:.0f} s", seed())

    async with (
        FaultProxy.start(plane.kubeconfig, tmp_path) as proxy,
        scene(tally, admin, tmp_path, kubeconfigs=[proxy.kubeconfig] * 2) as played,
    ):
        async with busy(played.user):
            await Storm(proxy, played.rng, tally).rage(seconds=SECONDS)
        await played.user.finish()
        await played.is_level()

    assert tally.violations == []
    assert tally.faults.total() > SECONDS
