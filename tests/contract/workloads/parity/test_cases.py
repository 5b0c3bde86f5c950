"""Cases in which built-in controllers have hung, waited or overshot."""

import asyncio
import contextlib

import pytest

from kube_runtime.errors import NotFound
from kube_runtime.resource import PODS, is_deleting
from tests.contract.workloads.parity.revisions import has_sizes
from tests.contract.workloads.world import World, template
from tests.faults import faults
from tests.faults.proxy import FaultProxy, requests
from workloads.names import PODSETS, ROLLOUTS

pytestmark = pytest.mark.contract

POD_DELETIONS = requests(method="DELETE", part="/pods/")
ONE_BY_ONE = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}


async def test_a_size_that_equals_what_is_left_of_the_old_ones_still_rolls(
    disturbed: World, proxy: FaultProxy
) -> None:
    # The built-in one takes the rollout for a resize, for ever: nothing is left to resize.
    kubelet = asyncio.create_task(disturbed.run_kubelet())
    await disturbed.rollout(5, strategy=ONE_BY_ONE)
    await disturbed.is_complete()
    proxy.fail(faults.answer(403, reason="Forbidden"), when=POD_DELETIONS, times=None)
    await disturbed.set_image("web:2")
    await has_sizes(disturbed, v1=4, v2=0)

    await disturbed.scale(ROLLOUTS, "web", 4)
    await disturbed.has_status(ROLLOUTS, replicas=5)
    proxy.clear()

    await disturbed.is_complete(replicas=4, updatedReplicas=4, revision=2)
    await has_sizes(disturbed, v1=0, v2=4)
    kubelet.cancel()


async def test_a_size_below_what_is_ready_but_not_available_is_reached_at_once(
    live: World,
) -> None:
    await live.rollout(5, minReadySeconds=3600, progressDeadlineSeconds=7200)
    await live.has_status(ROLLOUTS, readyReplicas=5, availableReplicas=0)

    await live.scale(ROLLOUTS, "web", 3)

    await live.has_pods(3)
    await live.has_status(ROLLOUTS, replicas=3, readyReplicas=3, availableReplicas=0)


async def test_a_podset_shrinks_at_once_although_nothing_is_available(live: World) -> None:
    await live.podset(5, minReadySeconds=3600)
    await live.has_status(PODSETS, readyReplicas=5, availableReplicas=0)

    await live.scale(PODSETS, "web", 3)

    await live.has_pods(3)


class SlowKubelet:
    """Takes every pod in, makes it ready, and lets it go only a while after it was told to."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._going: dict[str, float] = {}
        self.most = 0

    async def run(self) -> None:
        while True:
            pods = await self._world.all(PODS)
            self.most = max(self.most, len(pods))
            for pod in pods:
                if is_deleting(pod):
                    await self._let_go(pod["metadata"]["name"])
                elif not pod["spec"].get("nodeName"):
                    await self._world.bind(pod)
                    await self._world.make_ready(pod)
            await asyncio.sleep(0.02)

    async def _let_go(self, name: str) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._going.setdefault(name, now) > 0.5:
            with contextlib.suppress(NotFound):
                await self._world.delete(PODS, name, grace_period_seconds=0)


async def test_live_and_terminating_pods_together_never_exceed_the_surge(
    controlled: World,
) -> None:
    kubelet = SlowKubelet(controlled)
    task = asyncio.create_task(kubelet.run())
    spec = template("web:1")
    spec["spec"]["terminationGracePeriodSeconds"] = 60
    await controlled.rollout(15, template=spec, podReplacementPolicy="TerminationComplete")
    await controlled.eventually(lambda: controlled.is_complete(replicas=15), seconds=40)

    new = {"containers": [{"name": "web", "image": "web:2"}]}
    await controlled.patch(ROLLOUTS, "web", {"spec": {"template": {"spec": new}}})

    await controlled.eventually(
        lambda: controlled.is_complete(replicas=15, updatedReplicas=15, revision=2), seconds=60
    )
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert 15 < kubelet.most <= 19
