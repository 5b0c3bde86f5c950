"""Runs a contender through stages, and sums each of them up in the same figures.

    async with contest(cluster, api, OURS) as run:
        async with run.stage(pods=1000) as figures:
            ...  # give an order, and wait until it has been carried out

A stage's figures: seconds until the block's end, p50 and p99 of its pods' moments, requests of the
contender for each pod, its CPU seconds, its memory at the peak, pods over and under.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeAlias

from kube_runtime.api import ApiClient
from kube_runtime.resource import PODS, Json
from tests.bench.calls import AuditLog
from tests.bench.cluster import NAMESPACE, Cluster
from tests.bench.contenders import Contender, Measured, running
from tests.bench.timeline import Timeline, following

Figures: TypeAlias = dict[str, float]
DEADLINE_SECONDS = 170.0
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Run:
    """A contender at work."""

    contender: Contender
    api: ApiClient
    program: Measured
    timeline: Timeline
    calls: AuditLog

    @asynccontextmanager
    async def stage(self, *, pods: int) -> AsyncIterator[Figures]:
        """Measure a block that makes or deletes so many pods."""
        figures: Figures = {}
        mark, cpu = self.calls.mark(), self.program.cpu_seconds()
        self.timeline.begin()
        yield figures
        figures["seconds"] = round(time.monotonic() - self.timeline.start, 2)
        figures |= self.timeline.figures()
        figures["cpu s"] = round(self.program.cpu_seconds() - cpu, 2)
        figures["peak memory mb"] = round(self.program.peak_memory_mb())
        calls = self.calls.since(mark, self.contender.users)
        figures["api calls a pod"] = round(calls.total() / pods, 2)
        figures["of which events"] = round(calls["events"] / pods, 2)

    async def until(self, is_reached: Callable[[], bool]) -> None:
        """Wait for what the watcher sees."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not is_reached():  # noqa: ASYNC110 - 10 ms are exact enough
                await asyncio.sleep(0.01)

    async def until_complete(self, *, objects: int, replicas: int) -> None:
        """Wait until so many Rollouts or Deployments say that all is as asked for."""

        async def are_complete() -> bool:
            listed = await self.api.list(self.contender.rollout_resource, namespace=NAMESPACE)
            complete = [obj for obj in listed.items if _is_complete(obj, replicas)]
            return len(complete) == objects

        await _poll(are_complete)

    async def clear(self) -> None:
        """Delete all that the contender owns, and wait until no pod is left."""
        for resource in (self.contender.rollout_resource, self.contender.resource, PODS):
            grace = {"gracePeriodSeconds": "0"} if resource is PODS else {}
            path = resource.path(namespace=NAMESPACE)
            await self.api.request("DELETE", path, params=grace, timeout_seconds=120)

        async def is_empty() -> bool:
            return not (await self.api.list(PODS, namespace=NAMESPACE)).items

        await _poll(is_empty)


@asynccontextmanager
async def contest(cluster: Cluster, api: ApiClient, contender: Contender) -> AsyncIterator[Run]:
    """Run one contender alone until the end of the block; nothing of it is left behind."""
    async with (
        running(contender, cluster.plane, api, NAMESPACE) as program,
        following(api, NAMESPACE) as timeline,
    ):
        run = Run(contender, api, program, timeline, cluster.calls)
        yield run
        await run.clear()


def medians(rounds: Sequence[Figures]) -> Figures:
    """Take the median of each figure; the worst of those that must be nothing."""
    return {
        name: max(each[name] for each in rounds)
        if name in {"pods over", "pods under"}
        else round(statistics.median(each[name] for each in rounds), 2)
        for name in rounds[0]
        if all(name in each for each in rounds)
    }


async def _poll(is_reached: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not await is_reached():  # noqa: ASYNC110 - the API server has to be asked
            await asyncio.sleep(_POLL_SECONDS)


def _is_complete(obj: Json, replicas: int) -> bool:
    status: Json = obj.get("status") or {}
    counts = {
        status.get(field, 0)
        for field in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    }
    return (
        counts == {replicas} and status.get("observedGeneration") == obj["metadata"]["generation"]
    )
