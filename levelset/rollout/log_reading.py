"""Reads the logs of all of a Rollout's pods: once, merged by time, or following, with new pods.

`kubectl logs -l` would not do: it never takes up a pod that comes later, which in a rollout is the
one to look at, and it does not put the lines in order.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from typing import Final

from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.errors import KubeError
from kube_runtime.resource import Json, Key
from levelset.rollout import choosing, reading
from levelset.rollout.errors import NoPod, NoSuchRollout
from levelset.rollout.log_sources import Source, Wish, lines_of, merged, sources_of

_LOOK_SECONDS: Final = 1.0

Write = Callable[[Source, bytes], None]
"""Takes each line, with its newline, and whose it is."""
Note = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Found:
    """The logs that there are, and why others are not there yet."""

    sources: list[Source]
    waiting: list[str]


async def look(api: ApiClient, key: Key, wish: Wish, *, most: int) -> Found:
    """Find the logs; raises NoPod when there is none, or more than `most`."""
    pods = await _pods(api, key)
    sources = sources_of(pods, wish)
    waiting = list(choosing.waiting_reasons(pods))
    if not sources:
        kind = "no earlier log" if wish.is_previous else "no log"
        found = "; ".join(waiting[:1]) or f"{len(pods)} pods, none of which has begun to run"
        raise NoPod(f'rollout "{key.name}" has {kind}: {found if pods else "it has no pods"}')
    _check_most(len(sources), most)
    return Found(sources, waiting)


async def read_once(
    api: ApiClient, sources: list[Source], wish: Wish, *, write: Write, note: Note
) -> None:
    """Write what is there, in order of time; raises NoPod when no log can be read at all."""
    failed: list[Source] = []

    async def lines(source: Source) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(api.stream(source.path, params=source.params(wish))) as chunks:
                async for line in lines_of(chunks):
                    yield line
        except KubeError as error:  # the pod has gone meanwhile; the others are read all the same
            note(_trouble(source, error))
            failed.append(source)

    async with AsyncExitStack() as stack:
        logs = [
            (source, await stack.enter_async_context(aclosing(lines(source)))) for source in sources
        ]
        async for source, stamp, text in merged(logs):
            write(source, stamp + text if wish.has_timestamps else text)
    if len(failed) == len(sources):
        raise NoPod("none of the logs could be read")


async def follow(
    api: ApiClient, key: Key, wish: Wish, *, most: int, clock: Clock, write: Write, note: Note
) -> None:
    """Write what is there and what comes, of pods that come later too, until the Rollout is gone."""
    known: set[Source] = set()
    is_first = True
    async with asyncio.TaskGroup() as readers:
        while True:
            try:
                pods = await _pods(api, key)
            except NoSuchRollout:
                if is_first:
                    raise
                return
            there = sources_of(pods, wish)
            known &= set(there)  # those of pods that are gone have ended
            _check_most(len(there), most)
            for source in there:
                if source not in known:
                    copy = _copy(api, source, wish, is_new=not is_first, write=write, note=note)
                    readers.create_task(copy)
                    known.add(source)
            is_first = False
            await clock.sleep(_LOOK_SECONDS)


async def _copy(
    api: ApiClient, source: Source, wish: Wish, *, is_new: bool, write: Write, note: Note
) -> None:
    params = source.params(wish, is_new=is_new)
    try:
        async with aclosing(api.stream(source.path, params=params)) as chunks:
            async for line in lines_of(chunks):
                write(source, line)
    except KubeError as error:  # the others go on
        note(_trouble(source, error))


def _trouble(source: Source, error: KubeError) -> str:
    return f"pod/{source.pod} container {source.container}: {error}"


async def _pods(api: ApiClient, key: Key) -> list[Json]:
    rollout = await reading.read(api, key)
    return await reading.pods_of(api, rollout, await reading.podsets_of(api, rollout))


def _check_most(count: int, most: int) -> None:
    if count > most:
        raise NoPod(
            f"{count} logs to read, but at most {most} are read at once; "
            "choose with -c or raise --max-log-requests"
        )
