"""What a FaultProxy can do to a request: each function makes one fault to order with `fail`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import orjson
from aiohttp import web

from tests.faults.proxy import Exchange, Fault, drop, never


def answer(
    status: int, *, reason: str = "", retry_after: int | None = None, text: str | None = None
) -> Fault:
    """Answer with a Status of this code (or a plain text) and do not ask the API server."""

    async def fault(_: Exchange) -> web.StreamResponse:
        headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
        if text is not None:
            return web.Response(status=status, headers=headers, text=text)
        return web.json_response(_status(status, reason), status=status, headers=headers)

    return fault


def delay(seconds: float) -> Fault:
    """Pass on, late."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await exchange.pass_on()

    return fault


def silence() -> Fault:
    """Take the request and never say anything."""

    async def fault(_: Exchange) -> web.StreamResponse:
        await never()
        raise AssertionError

    return fault


def reset() -> Fault:
    """Cut the connection without asking the API server."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        exchange.cut()
        return web.Response()

    return fault


def lose_answer() -> Fault:
    """Let the API server act, then cut the connection: the client cannot know."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        upstream = await exchange.open()
        await upstream.read()
        drop(upstream)
        exchange.cut()
        return web.Response()

    return fault


def truncate() -> Fault:
    """Send half of the API server's answer and cut the connection."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        async with _stream(exchange) as (upstream, response):
            body = await upstream.read()
            await response.write(body[: len(body) // 2])
            exchange.cut()
            return response

    return fault


def end_stream(*, after_lines: int = 0) -> Fault:
    """End a watch in good order after so many events."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        async with _stream(exchange) as (upstream, response):
            await _some_lines(upstream, response, after_lines)
            await response.write_eof()
            return response

    return fault


def cut_stream(*, after_lines: int = 0) -> Fault:
    """Cut a watch's connection after so many events."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        async with _stream(exchange) as (upstream, response):
            await _some_lines(upstream, response, after_lines)
            exchange.cut()
            return response

    return fault


def half_line(*, after_lines: int = 0) -> Fault:
    """Deliver so many events and half of the next one, then end in good order."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        async with _stream(exchange) as (upstream, response):
            await _some_lines(upstream, response, after_lines)
            line = await upstream.content.readline()
            await response.write(line[: len(line) // 2])
            await response.write_eof()
            return response

    return fault


def stall_stream(*, after_lines: int = 0) -> Fault:
    """Deliver so many events, then nothing at all, with the connection open."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        async with _stream(exchange) as (upstream, response):
            await _some_lines(upstream, response, after_lines)
            await never()
            return response

    return fault


def error_event(code: int, *, reason: str = "", after_lines: int = 0) -> Fault:
    """Deliver so many events, then an ERROR event with this Status."""
    event = {"type": "ERROR", "object": _status(code, reason)}
    return inject(orjson.dumps(event) + b"\n", after_lines=after_lines)


def inject(line: bytes, *, after_lines: int = 0) -> Fault:
    """Deliver so many events, then this line, then the rest."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        async with _stream(exchange) as (upstream, response):
            await _some_lines(upstream, response, after_lines)
            await response.write(line)
            async for rest in upstream.content:
                await response.write(rest)
            return response

    return fault


def in_pieces(size: int, *, pause_seconds: float = 0.0) -> Fault:
    """Deliver a watch in pieces of so many bytes, wherever they end."""

    async def fault(exchange: Exchange) -> web.StreamResponse:
        async with _stream(exchange) as (upstream, response):
            async for chunk in upstream.content.iter_any():
                for start in range(0, len(chunk), size):
                    await response.write(chunk[start : start + size])
                    await asyncio.sleep(pause_seconds)
            await response.write_eof()
            return response

    return fault


@asynccontextmanager
async def _stream(
    exchange: Exchange,
) -> AsyncIterator[tuple[aiohttp.ClientResponse, web.StreamResponse]]:
    upstream = await exchange.open()
    try:
        yield upstream, await exchange.begin(upstream)
    finally:
        drop(upstream)


async def _some_lines(
    upstream: aiohttp.ClientResponse, response: web.StreamResponse, count: int
) -> None:
    for _ in range(count):
        await response.write(await upstream.content.readline())


def _status(code: int, reason: str) -> dict[str, object]:
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": "a fault of the tests",
    }
