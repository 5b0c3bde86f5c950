"""Looks at a Rollout until its rollout has ended, and shows each look.

Looks anew twice a second instead of watching: a look that fails is repeated by the client, and
whatever a broken stream would have missed is in the next one.
"""

import asyncio
from typing import Final, Protocol

from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.resource import Json, Key, uid_of
from levelset.rollout import reading
from levelset.rollout.errors import NoSuchRollout, RolloutFailed, WaitedInVain
from levelset.rollout.snapshot import Snapshot, snapshot_of
from levelset.rollout.verdict import Phase, Verdict, judge

_LOOK_SECONDS: Final = 0.5
_GONE: Final = "object has been deleted"


class Display(Protocol):
    """Shows how a rollout stands; called for each look."""

    wants_podsets: bool

    def __call__(self, seen: Snapshot, verdict: Verdict, podsets: list[Json]) -> None:
        """Show one look."""


async def follow(
    api: ApiClient,
    key: Key,
    show: Display,
    *,
    clock: Clock,
    revision: int = 0,
    timeout_seconds: float = 0,
) -> None:
    """Return when it is done; raises RolloutFailed, WaitedInVain or NoSuchRollout."""
    try:
        async with asyncio.timeout(timeout_seconds or None):
            await _until_done(api, key, show, clock=clock, revision=revision)
    except TimeoutError as error:
        raise WaitedInVain("timed out waiting for the condition") from error


async def look(api: ApiClient, key: Key, show: Display, *, revision: int = 0) -> tuple[Json, Phase]:
    """Look once, and show it; raises RolloutFailed when it has failed."""
    raw = await reading.read(api, key)
    seen = snapshot_of(raw)
    verdict = judge(seen, revision=revision)
    show(seen, verdict, await reading.podsets_of(api, raw) if show.wants_podsets else [])
    if verdict.phase is Phase.FAILED:
        raise RolloutFailed(verdict.text)
    return raw, verdict.phase


async def _until_done(
    api: ApiClient, key: Key, show: Display, *, clock: Clock, revision: int
) -> None:
    raw, phase = await look(api, key, show, revision=revision)
    uid = uid_of(raw)
    while phase is not Phase.DONE:
        await clock.sleep(_LOOK_SECONDS)
        try:
            raw, phase = await look(api, key, show, revision=revision)
        except NoSuchRollout as error:
            raise RolloutFailed(_GONE) from error
        if uid_of(raw) != uid:  # of the same name, but not what was asked about
            raise RolloutFailed(_GONE)
