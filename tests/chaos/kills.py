"""Kills the leading process again and again: after a random while, or right after a write.

Another process stands by each time, as in a deployment of two. Most times the dead one's Lease is
taken away by hand, since three seconds of waiting at each of 200 kills would be ten minutes.
"""

import asyncio

from tests.chaos.scene import Scene

_LIVES_SECONDS = (0.15, 0.6, 2.0)
_WRITE_SECONDS = 2.0
_WAITS_FOR_LEASE = 0.08
_KILLS_BOTH = 0.1
_AT_A_WRITE = 0.4


async def kill_at_random(scene: Scene, *, kills: int) -> None:
    """Kill so many processes, at moments drawn from the scene's own source of randomness."""
    killed = 0
    while killed < kills:
        leader = await scene.replicas.leader()
        await _live(scene)
        victims = [leader]
        if scene.rng.random() < _KILLS_BOTH:
            victims = list(scene.replicas.running)
        for victim in victims:
            scene.replicas.start(await scene.replicas.kill(victim))
            scene.tally.fault("kill -9")
            killed += 1
        if scene.rng.random() >= _WAITS_FOR_LEASE:
            await scene.replicas.bury(victims)
        else:
            scene.tally.fault("expired lease")


async def _live(scene: Scene) -> None:
    """Let the leader live for a while that is mostly too short to finish anything."""
    if scene.rng.random() >= _AT_A_WRITE:
        await asyncio.sleep(scene.rng.random() * scene.rng.choice(_LIVES_SECONDS))
        return
    scene.witness.pod_has_changed.clear()
    try:
        async with asyncio.timeout(_WRITE_SECONDS):
            await scene.witness.pod_has_changed.wait()
    except TimeoutError:
        return
    await asyncio.sleep(scene.rng.random() * 0.02)
