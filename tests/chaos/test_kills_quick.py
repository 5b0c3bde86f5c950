"""A few kills at random moments on the shared control plane, where a hand plays the kubelet."""

import asyncio
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from tests.chaos.kills import kill_at_random
from tests.chaos.scene import busy, scene, seed
from tests.chaos.tally import Tally
from tests.contract.workloads.world import World

pytestmark = pytest.mark.contract

KILLS = 8


async def test_killed_in_the_middle_of_rollouts_it_ends_where_it_was_sent(
    api: ApiClient, namespace: str, crds: None, kubeconfig: Path, tmp_path: Path
) -> None:
    tally = Tally.open(f"{KILLS} kills, quick", seed(1))
    kubelet = asyncio.create_task(World(api, namespace).run_kubelet())
    try:
        async with scene(
            tally,
            api,
            tmp_path,
            kubeconfigs=[kubeconfig] * 2,
            namespace=namespace,
            steady=2,
            moving=1,
        ) as played:
            async with busy(played.user, every_seconds=0.3):
                await kill_at_random(played, kills=KILLS)
            await played.user.finish()
            await played.is_level()
    finally:
        kubelet.cancel()
        await asyncio.gather(kubelet, return_exceptions=True)

    assert tally.faults["kill -9"] >= KILLS
    assert tally.violations == []
