"""A proxy between a client and a real API server that misbehaves when it is told to.

    async with FaultProxy.start(kubeconfig, tmp_path) as proxy:
        api = await ApiClient.connect(kubeconfig=str(proxy.kubeconfig), ...)
        proxy.fail(faults.answer(429, retry_after=1), when=requests(method="POST"), times=3)

Without orders it passes everything on, as the administrator; it speaks plain HTTP on loopback,
so kubectl and controllers in processes of their own can use its kubeconfig too.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import aiohttp
import orjson
from aiohttp import web

from kube_runtime import credentials

_PASSED_ON = ("Accept", "Content-Type", "User-Agent", "Impersonate-User", "Impersonate-Group")
_PASSED_BACK = ("Content-Type", "Retry-After", "Warning")
_STREAMS = aiohttp.ClientTimeout(total=None, sock_connect=5)


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it came in."""

    method: str
    path: str
    query: Mapping[str, str]

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") in {"1", "true"}


Filter: TypeAlias = Callable[[Seen], bool]


def requests(*, method: str | None = None, part: str = "", watch: bool | None = None) -> Filter:
    """Match by method, by a part of the path, and by whether it is a watch."""

    def matches(seen: Seen) -> bool:
        return (
            method in {None, seen.method} and part in seen.path and watch in {None, seen.is_watch}
        )

    return matches


WATCHES = requests(method="GET", watch=True)
LISTS = requests(method="GET", watch=False)
WRITES: Filter = lambda seen: seen.method != "GET"  # noqa: E731 - beside its siblings


@dataclass(slots=True, eq=False)
class Exchange:
    """One request under way, for a fault to play with."""

    seen: Seen
    request: web.Request
    _open: Callable[[], Awaitable[aiohttp.ClientResponse]]
    has_begun: bool = False
    """Whether the client has had the head of the answer."""

    async def pass_on(self) -> web.StreamResponse:
        """Do as if there were no proxy."""
        upstream = await self.open()
        try:
            if self.seen.is_watch and upstream.status == 200:
                response = await self.begin(upstream)
                async for line in upstream.content:
                    await response.write(line)
                await response.write_eof()
                return response
            return web.Response(
                status=upstream.status, headers=_back(upstream), body=await upstream.read()
            )
        finally:
            drop(upstream)

    async def open(self) -> aiohttp.ClientResponse:
        """Send it to the API server; whoever calls drops the answer."""
        return await self._open()

    async def begin(self, upstream: aiohttp.ClientResponse) -> web.StreamResponse:
        """Begin a stream of our own with the API server's headers."""
        response = web.StreamResponse(status=upstream.status, headers=_back(upstream))
        response.enable_chunked_encoding()
        await response.prepare(self.request)
        self.has_begun = True
        return response

    def cut(self) -> None:
        """Cut the client's connection: it sees a reset."""
        if self.request.transport is not None:
            self.request.transport.abort()


Fault: TypeAlias = Callable[[Exchange], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class _Order:
    fault: Fault
    when: Filter
    left: int | None


@dataclass(slots=True)
class FaultProxy:
    """Passes requests on, except where an order says otherwise."""

    server: str
    kubeconfig: Path
    _login: credentials.Login
    _session: aiohttp.ClientSession
    seen: list[Seen] = field(default_factory=list)
    _orders: list[_Order] = field(default_factory=list)
    _watches: set[Exchange] = field(default_factory=set)

    @classmethod
    @asynccontextmanager
    async def start(cls, upstream: Path, directory: Path) -> AsyncIterator["FaultProxy"]:
        """Listen on a free port of loopback, and write a kubeconfig that leads there."""
        login = await credentials.load(str(upstream))
        async with login.open_pool("levelset-fault-proxy") as session:
            proxy = cls("", directory / "fault-proxy.kubeconfig", login, session)
            app = web.Application(client_max_size=2**26)
            app.router.add_route("*", "/{path:.*}", proxy._handle)
            runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
            await runner.setup()
            try:
                site = web.TCPSite(runner, "127.0.0.1", 0)
                await site.start()
                port = runner.addresses[0][1]
                proxy.server = f"http://127.0.0.1:{port}"
                proxy.kubeconfig.write_bytes(_kubeconfig(proxy.server))
                yield proxy
            finally:
                _abort_all(runner)  # a peer that stalls would hold up an orderly close
                await runner.cleanup()
                await asyncio.sleep(0)

    def fail(self, fault: Fault, *, when: Filter, times: int | None = 1) -> None:
        """Play this fault on the next so many matching requests; None: until clear()."""
        self._orders.append(_Order(fault, when, times))

    def clear(self) -> None:
        """Forget all orders; faults that are under way go on."""
        self._orders.clear()

    @property
    def pending(self) -> int:
        """Tell how many orders were not carried out to the end."""
        return len(self._orders)

    @property
    def open_watches(self) -> int:
        """Tell how many watches are under way, so that their clients know it.

        Cut before that, a client may ask again by itself without its caller hearing of it.
        """
        return sum(watch.has_begun for watch in self._watches)

    def cut_watches(self) -> int:
        """Cut the connections of all watches under way; tell how many there were."""
        count = len(self._watches)
        for exchange in list(self._watches):
            exchange.cut()
        return count

    def count(self, when: Filter) -> int:
        """Tell how many requests of this sort have come in."""
        return sum(1 for seen in self.seen if when(seen))

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        seen = Seen(request.method, request.path, dict(request.query))
        self.seen.append(seen)
        body = await request.read()
        exchange = Exchange(seen, request, lambda: self._send(request, body))
        fault = self._next_fault(seen)
        if seen.is_watch:
            self._watches.add(exchange)
        try:
            return await (fault(exchange) if fault else exchange.pass_on())
        finally:
            self._watches.discard(exchange)

    def _next_fault(self, seen: Seen) -> Fault | None:
        for order in self._orders:
            if order.when(seen):
                if order.left is not None:
                    order.left -= 1
                    if order.left <= 0:
                        self._orders.remove(order)
                return order.fault
        return None

    async def _send(self, request: web.Request, body: bytes) -> aiohttp.ClientResponse:
        headers = [
            (name, value) for name in _PASSED_ON for value in request.headers.getall(name, [])
        ]
        return await self._session.request(
            request.method,
            f"{self._login.server}{request.path_qs}",
            headers=headers,
            data=body or None,
            timeout=_STREAMS,
            server_hostname=self._login.tls_server_name,
        )


def drop(upstream: aiohttp.ClientResponse) -> None:
    """Let go of an answer at once; an orderly end of TLS would outlive the test."""
    if upstream.connection is not None and upstream.connection.transport is not None:
        upstream.connection.transport.abort()
    upstream.close()


def _abort_all(runner: web.AppRunner) -> None:
    for connection in runner.server.connections if runner.server else ():
        if connection.transport is not None:
            connection.transport.abort()


def _back(upstream: aiohttp.ClientResponse) -> dict[str, str]:
    return {name: upstream.headers[name] for name in _PASSED_BACK if name in upstream.headers}


def _kubeconfig(server: str) -> bytes:
    return orjson.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "proxy",
            "clusters": [{"name": "proxy", "cluster": {"server": server}}],
            "users": [{"name": "proxy", "user": {}}],
            "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        }
    )


async def never() -> None:
    """Wait for the end of the test."""
    await asyncio.Event().wait()
