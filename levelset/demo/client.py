"""The traffic client as a program of the demo, in the network of a node."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from levelset.demo import traffic, waiting
from levelset.demo.stage import Stage
from local_cluster import process
from local_cluster.provider import Cluster

_SETTLE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Client:
    """A client that is requesting."""

    log: Path
    program: process.Program

    def requests(self) -> list[traffic.Request]:
        """Return what it has written down so far."""
        return traffic.read_log(self.log)

    async def hears(self, version: str, *, timeout_seconds: float = 30.0) -> float:
        """Wait until a version has answered; return the seconds."""

        async def look() -> str:
            requests = await asyncio.to_thread(self.requests)
            if any(r.version == version for r in requests):
                return ""
            self.program.check()
            return f"last of {len(requests)} requests: {requests[-1:]}"

        return await waiting.until(f"an answer of {version}", look, timeout_seconds=timeout_seconds)

    async def hears_pods(self, number: int, *, timeout_seconds: float = 30.0) -> float:
        """Wait until that many different pods have answered; return the seconds."""

        async def look() -> str:
            requests = await asyncio.to_thread(self.requests)
            pods = {r.pod for r in requests if r.pod}
            self.program.check()
            if len(pods) >= number:
                return ""
            return f"{len(pods)} of {number} pods answered {len(requests)} requests"

        return await waiting.until("answers of all pods", look, timeout_seconds=timeout_seconds)


@asynccontextmanager
async def requesting(stage: Stage, cluster: Cluster, url: str, name: str) -> AsyncIterator[Client]:
    """Keep requesting `url` from inside the first node until the block is left."""
    log = stage.folder("traffic") / f"{name}.jsonl"
    program = process.Program.start(
        f"traffic-{name}",
        [sys.executable, "-m", "levelset.demo.traffic", url, log],
        log=log.with_suffix(".log"),
        prefix=next(iter(cluster.commands.values())),
        dies_with_parent=True,
    )
    stage.started(program)
    try:
        yield Client(log, program)
        await asyncio.sleep(_SETTLE_SECONDS)  # the last requests may still fail
    finally:
        await stage.end(program)


def window(requests: list[traffic.Request], *, since: float) -> list[traffic.Request]:
    """Keep the requests that began after a moment of Unix time."""
    return [r for r in requests if since <= r.at <= time.time()]
