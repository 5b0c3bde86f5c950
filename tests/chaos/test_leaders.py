"""Two processes and one lease: handed over, taken over, and a frozen leader that wakes up too late.

Each process has a user of its own, so the audit log tells whose every write was.
"""

import asyncio
import os
import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from local_cluster.control_plane import ControlPlane
from tests.chaos.audit import writes
from tests.chaos.scene import Scene, busy, scene, seed, users
from tests.chaos.tally import Tally

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(600)]

HAND_OVERS = int(os.environ.get("LEVELSET_CHAOS_HAND_OVERS", "20"))
FREEZES = int(os.environ.get("LEVELSET_CHAOS_FREEZES", "8"))
AFTER_THAW_SECONDS = 2.0


async def test_a_lease_that_changes_hands_changes_nothing_else(
    plane: ControlPlane, admin: ApiClient, tmp_path: Path
) -> None:
    tally = Tally.open(f"{HAND_OVERS} hand-overs", seed())

    async with scene(tally, admin, tmp_path, kubeconfigs=users(plane, 2)) as played:
        async with busy(played.user):
            for _ in range(HAND_OVERS):
                leader = await played.replicas.leader()
                await asyncio.sleep(played.rng.uniform(0, 2))
                played.replicas.start(await played.replicas.stop(leader))
                tally.fault("hand-over")
        await played.user.finish()
        await played.is_level()

    assert tally.violations == []


async def test_a_leader_frozen_past_its_lease_writes_nothing_when_it_wakes_up(
    plane: ControlPlane, admin: ApiClient, tmp_path: Path, audit_log: Path
) -> None:
    tally = Tally.open(f"{FREEZES} freezes", seed())

    async with scene(tally, admin, tmp_path, kubeconfigs=users(plane, 2)) as played:
        async with busy(played.user, every_seconds=0.2):
            for _ in range(FREEZES):
                await _freeze_and_thaw(played, audit_log)
        await played.user.finish()
        await played.is_level()

    assert tally.violations == []


async def _freeze_and_thaw(played: Scene, audit_log: Path) -> None:
    """Stop the leader in the middle of its work until the other one leads, and wake it up."""
    leader = await played.replicas.leader()
    user = played.replicas.running[leader].name.removesuffix(".kubeconfig")
    played.witness.pod_has_changed.clear()
    async with asyncio.timeout(30):
        await played.witness.pod_has_changed.wait()
    leader.identity.send(signal.SIGSTOP)
    played.tally.fault("SIGSTOP")
    other = await played.replicas.leader(but=[leader])
    await asyncio.sleep(played.rng.uniform(0, 2))

    thawed = datetime.now(UTC)
    leader.identity.send(signal.SIGCONT)
    await asyncio.sleep(AFTER_THAW_SECONDS)  # what it has in its queues it would write at once

    wrote = [write for write in writes(audit_log, user=user, since=thawed) if write.is_of_state]
    played.tally.check(
        "no write without the lease", holds=not wrote, otherwise=f"{user} wrote {wrote}"
    )
    other_user = played.replicas.running[other].name.removesuffix(".kubeconfig")
    assert writes(audit_log, user=other_user, since=datetime.min.replace(tzinfo=UTC))
