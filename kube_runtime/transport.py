"""Sends one request to the API server and reads the answer, or the lines of a stream.

Knows connections, credentials and timeouts; knows nothing of kinds, retries or limits, which are
the client's. Every await of the network here has a timeout.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode, urlsplit

import aiohttp
import multidict
import yarl

from kube_runtime import credentials
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.credentials import Login
from kube_runtime.errors import ApiError, BadKubeconfig, BrokenStream, error_from_response
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.logs import fields
from kube_runtime.transport_errors import FOREIGN_ERRORS, translate
from kube_runtime.transport_lines import LineSplitter

_LOG = logging.getLogger(__name__)
_CONNECT_SECONDS: Final = 10.0
_RETRY_REFRESH_SECONDS: Final = 10.0
_MAX_BODY_BYTES: Final = 512 * 2**20
_MAX_ERROR_BYTES: Final = 2**20


@dataclass(frozen=True, slots=True)
class Call:
    """One request, ready to be sent."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """A connection pool with credentials that renew themselves."""

    def __init__(
        self,
        login: Login,
        *,
        user_agent: str,
        kubeconfig: str | None = None,
        context: str | None = None,
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._user_agent = user_agent
        self._from = (kubeconfig, context)
        self._instrumentation = instrumentation
        self._clock = clock
        self._renewing = asyncio.Lock()
        self._login = login
        self._session = login.open_pool(user_agent)
        self._set_refresh(login.refresh_seconds)

    @property
    def login(self) -> Login:
        """The credentials in use."""
        return self._login

    async def send(self, call: Call, *, timeout_seconds: float) -> bytes:
        """Send and read the whole answer; raise ApiError, Unreachable or RequestTimeout."""
        limits = aiohttp.ClientTimeout(total=timeout_seconds, sock_connect=_CONNECT_SECONDS)
        async with self._exchange(call, limits) as response:
            return await _read(response, _MAX_BODY_BYTES)

    async def lines(
        self, call: Call, *, inactivity_seconds: float
    ) -> AsyncGenerator[list[bytes], None]:
        """Send and yield the lines as they come, in batches; ends when the server ends it.

        Raises RequestTimeout after so many seconds without a byte, Unreachable when the
        connection breaks, BrokenStream when it ends inside a line.
        """
        limits = aiohttp.ClientTimeout(
            total=None, sock_connect=_CONNECT_SECONDS, sock_read=inactivity_seconds
        )
        splitter = LineSplitter()
        async with self._exchange(call, limits) as response:
            async for chunk in response.content.iter_any():
                if lines := splitter.feed(chunk):
                    yield lines
            if splitter.has_rest:
                raise BrokenStream(f"{call}: expected whole lines, found half a line at the end")

    async def chunks(self, call: Call) -> AsyncGenerator[bytes, None]:
        """Send and yield the body as it comes, for as long as the server keeps it open.

        Without a limit on silence, since a log may say nothing for days; a peer that is gone is
        noticed by TCP's own keep-alive.
        """
        limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS)
        async with self._exchange(call, limits) as response:
            async for chunk in response.content.iter_any():
                yield chunk

    async def renew(self, used: Login) -> bool:
        """Read the credentials again, unless somebody did since `used`; False when impossible."""
        async with self._renewing:
            if self._login is not used:
                return True
            try:
                await self._replace(await credentials.load(*self._from))
            except BadKubeconfig as error:
                _LOG.warning("credentials not renewed", extra=fields(error=error))
                self._set_refresh(_RETRY_REFRESH_SECONDS)
                return False
            return True

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def _replace(self, login: Login) -> None:
        previous, self._login = self._login, login
        self._set_refresh(login.refresh_seconds)
        if login.identity != previous.identity:
            # Watches on the old connections end and are taken up again with the new certificate.
            session, self._session = self._session, login.open_pool(self._user_agent)
            await session.close()

    def _set_refresh(self, seconds: float | None) -> None:
        self._refresh_at = None if seconds is None else self._clock.monotonic() + seconds

    @asynccontextmanager
    async def _exchange(
        self, call: Call, limits: aiohttp.ClientTimeout
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send, count, and raise what is no success; whatever breaks inside is translated too."""
        if self._refresh_at is not None and self._clock.monotonic() >= self._refresh_at:
            await self.renew(self._login)
        login = self._login
        started = self._clock.monotonic()
        code = "<error>"
        try:
            async with self._request(login, call, limits) as response:
                code = str(response.status)
                if response.status >= 300:
                    raise await _refusal(call, response)
                try:
                    yield response
                finally:
                    _abort_unfinished(response)
        except FOREIGN_ERRORS as error:
            raise translate(
                error, request=str(call), server=login.server, source=login.source
            ) from error
        finally:
            self._instrumentation.request_finished(
                call.method, code, urlsplit(login.server).netloc, self._clock.monotonic() - started
            )

    def _request(
        self, login: Login, call: Call, limits: aiohttp.ClientTimeout
    ) -> "aiohttp.client._RequestContextManager":
        query = f"?{urlencode(call.params)}" if call.params else ""
        return self._session.request(
            call.method,
            yarl.URL(f"{login.server}{call.path}{query}", encoded=True),
            data=call.body,
            headers=_headers(login, call),
            timeout=limits,
            allow_redirects=False,
            server_hostname=login.tls_server_name,
            proxy=login.proxy,
        )


def _abort_unfinished(response: aiohttp.ClientResponse) -> None:
    """Drop the connection of an answer that was not read to its end.

    An orderly close would wait for the server's part of TLS, after our caller has gone on.
    """
    if response.connection is not None and response.connection.transport is not None:
        response.connection.transport.abort()


def _headers(login: Login, call: Call) -> multidict.CIMultiDict[str]:
    headers = multidict.CIMultiDict(call.headers)
    if call.body is not None:
        headers["Content-Type"] = call.content_type
    if login.authorization is not None:
        headers["Authorization"] = login.authorization
    return headers


async def _refusal(call: Call, response: aiohttp.ClientResponse) -> ApiError:
    return error_from_response(
        response.status,
        await _read(response, _MAX_ERROR_BYTES),
        retry_after=response.headers.get("Retry-After"),
        request=str(call),
    )


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Read the body, but no more than the limit."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            raise BrokenStream(
                f"{response.method} {response.url.path}: expected at most {limit} bytes, "
                "found more; ask for less, with a selector or pages"
            )
    return b"".join(chunks)
