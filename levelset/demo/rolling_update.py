"""Step: a new digest rolls out while a client keeps requesting; every request is counted, none may fail."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kube_runtime.api import ApiClient
from levelset.demo import client, first_push, picture, workload
from levelset.demo.errors import require
from levelset.demo.image import Images
from levelset.demo.narrator import Step
from levelset.demo.recorder import READY, Moment, Recorder
from levelset.demo.repository import Repository
from levelset.demo.stage import NAMESPACE, Stage
from levelset.demo.traffic import Request
from local_cluster.provider import Cluster

_LEAD_SECONDS = 2.0
_TIMEOUT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Rolled:
    """What was seen of the rolling update; times are Unix time."""

    start: float
    end: float
    moments: list[Moment]
    requests: list[Request]

    def draw(self, path: Path) -> None:
        """Draw it."""
        failed = sum(bool(r.error) for r in self.requests)
        asked = f"{len(self.requests)} requests, {failed} failed" if self.requests else "simulated"
        title = f"A rolling update of {workload.REPLICAS} pods, v1 to v2: {asked}"
        picture.draw(self.moments, self.requests, path, start=self.start, end=self.end, title=title)


@dataclass(frozen=True, slots=True)
class Roll:
    """All that the step needs."""

    stage: Stage
    cluster: Cluster
    api: ApiClient
    repository: Repository
    images: Images

    async def play(self, service_url: str, step: Step) -> Rolled:
        """Roll v1 to v2 and return what the recorder and the client have seen."""
        recorder = Recorder(self.api, NAMESPACE, self.images.versions)
        recording = asyncio.create_task(recorder.run())
        try:
            if self.cluster.commands:
                async with client.requesting(
                    self.stage, self.cluster, service_url, "rolling-update"
                ) as requester:
                    await requester.hears("v1")
                    start, seconds = await self._roll(step)
                    await requester.hears("v2")
                requests = client.window(requester.requests(), since=start)
            else:
                start, seconds = await self._roll(step)
                requests = []
                step.note("the nodes are simulated, so nobody answers and no client asks")
        finally:
            recording.cancel()
            with suppress(asyncio.CancelledError):
                await recording
        rolled = Rolled(start, time.time(), recorder.moments, requests)
        self._check(rolled, step, seconds)
        return rolled

    async def _roll(self, step: Step) -> tuple[float, float]:
        await asyncio.sleep(_LEAD_SECONDS)  # so that the picture shows how it was before
        start = time.time()
        self.repository.set_image(self.images.name, self.images.second)
        pushed = await self.repository.push("Run v2 in staging")
        step.fact("pushed", f"{pushed.commit[:12]} to main")
        seconds = await first_push.settle(
            self.api, pushed.commit, self.images.second, timeout_seconds=_TIMEOUT_SECONDS
        )
        return start, seconds

    def _check(self, rolled: Rolled, step: Step, seconds: float) -> None:
        fewest = min(m.count(READY) for m in rolled.moments if m.at >= rolled.start)
        step.fact("rolled out", f"in {seconds:.1f} s; never fewer than {fewest} pods ready")
        require(
            fewest >= workload.REPLICAS,
            f"expected at least {workload.REPLICAS} ready pods at every moment, found {fewest}",
        )
        step.summary = f"{seconds:.1f} s, never fewer than {fewest} pods ready"
        if not rolled.requests:
            return
        failed = [r for r in rolled.requests if r.error]
        by_version = {v: sum(r.version == v for r in rolled.requests) for v in ("v1", "v2")}
        told = f"{len(rolled.requests)} requests, {len(failed)} failed"
        step.note(f"[bold]{told}[/bold] (v1 answered {by_version['v1']}, v2 {by_version['v2']})")
        step.summary = f"{told}; {step.summary}"
        require(not failed, f"{told}; the first: {failed[:1]}")
