"""Logs are read although a pod goes meanwhile."""

from collections.abc import AsyncIterator, Mapping
from typing import cast

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.errors import NotFound
from levelset.rollout.errors import NoPod
from levelset.rollout.log_reading import read_once
from levelset.rollout.log_sources import Source, Wish

HERE, GONE = Source("shop", "here", "web"), Source("shop", "gone", "web")


class Server:
    """Has the log of one pod."""

    async def stream(self, path: str, *, params: Mapping[str, str]) -> AsyncIterator[bytes]:
        assert params["container"] == "web"
        if path == GONE.path:
            raise NotFound(404, "NotFound", "pods gone not found")
        yield b"2026-11-30T12:00:00Z hel"
        yield b"lo\n"


async def read(*sources: Source, timestamps: bool = False) -> tuple[list[bytes], list[str]]:
    lines: list[bytes] = []
    notes: list[str] = []
    await read_once(
        cast("ApiClient", Server()),
        list(sources),
        Wish(has_timestamps=timestamps),
        write=lambda _, line: lines.append(line),
        note=notes.append,
    )
    return lines, notes


async def test_a_pod_that_is_gone_is_told_and_the_others_are_read() -> None:
    lines, notes = await read(GONE, HERE)

    assert lines == [b"hello\n"]
    assert notes == ["pod/gone container web: 404 NotFound: pods gone not found"]


async def test_times_are_left_in_when_asked_for() -> None:
    lines, _ = await read(HERE, timestamps=True)

    assert lines == [b"2026-11-30T12:00:00Z hello\n"]


async def test_when_no_log_can_be_read_that_is_a_failure() -> None:
    with pytest.raises(NoPod):
        await read(GONE)
