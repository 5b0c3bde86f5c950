"""Sends calls under the client's rules: rate, number in flight, fence, retries, new credentials.

The verbs in api.py build calls and read answers; everything that makes a call wait, be refused
or be repeated is here.
"""

import asyncio
import copy
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol, Self

import orjson

from kube_runtime.api_calls import is_mutating
from kube_runtime.api_retry import pause_before_retry
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.errors import BrokenStream, KubeError, RequestTimeout, Unauthorized
from kube_runtime.ratelimit import TokenBucket
from kube_runtime.transport import Call, Transport

# More at once does not make the API server faster, but its answers later: 1000 pods took the
# same 3.2-4.8 s with 50 and with 200 in flight.
MAX_IN_FLIGHT: Final = 100
# For the lease, the events, the scrapes: few requests that must not queue behind a thousand creates.
_SIDE_LANE_QPS: Final = 50
_SIDE_LANE_BURST: Final = 100
_SIDE_LANE_IN_FLIGHT: Final = 10


class Fence(Protocol):
    """Says no to writes after the lease was lost."""

    def check(self) -> None:
        """Raise LostLeadership unless writing is still allowed."""


@dataclass(slots=True)
class Gate:
    """Holds the fence that a sender and those derived from it share."""

    fence: Fence | None = None


class Sender:
    """Sends calls to one API server as one user."""

    def __init__(
        self,
        transport: Transport,
        *,
        limiter: TokenBucket,
        timeout_seconds: float,
        gate: Gate,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.transport = transport
        self.gate = gate
        self._limiter = limiter
        self._timeout_seconds = timeout_seconds
        self._clock = clock
        self._in_flight = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._headers: tuple[tuple[str, str], ...] = ()

    def with_headers(self, headers: tuple[tuple[str, str], ...]) -> Self:
        """Make a sender that adds these headers, over the same pool, limits and fence."""
        derived = copy.copy(self)
        derived._headers = headers  # noqa: SLF001 - of our own class
        return derived

    def side_lane(self, gate: Gate) -> Self:
        """Make a sender with another fence and small limits of its own, over the same pool."""
        derived = copy.copy(self)
        derived.gate = gate
        derived._limiter = TokenBucket(_SIDE_LANE_QPS, _SIDE_LANE_BURST, clock=self._clock)  # noqa: SLF001 - of our own class
        derived._in_flight = asyncio.Semaphore(_SIDE_LANE_IN_FLIGHT)  # noqa: SLF001
        return derived

    async def send(self, call: Call, *, timeout_seconds: float | None = None) -> Any:
        """Send, repeating where that is safe and there is time, and decode the answer.

        The time runs from when the rate limit lets the call through, retries included.
        """
        call = self._dressed(call)
        await self._limiter.take()
        deadline = self._clock.monotonic() + (timeout_seconds or self._timeout_seconds)
        attempt = 0
        while True:
            attempt += 1
            try:
                return _decode(call, await self._attempt(call, deadline))
            except KubeError as error:
                pause = pause_before_retry(call.method, error, attempt, random.random)
                if pause is None or self._clock.monotonic() + pause >= deadline:
                    raise
            await self._clock.sleep(pause)
            await self._limiter.take()

    async def lines(
        self, call: Call, *, inactivity_seconds: float
    ) -> AsyncGenerator[list[bytes], None]:
        """Open a stream once, without retries: who follows a stream has a back-off of its own."""
        call = self._dressed(call)
        await self._limiter.take()
        used = self.transport.login
        try:
            async with aclosing(
                self.transport.lines(call, inactivity_seconds=inactivity_seconds)
            ) as batches:
                async for lines in batches:
                    yield lines
        except Unauthorized:
            await self.transport.renew(used)  # for the next time
            raise

    async def chunks(self, call: Call) -> AsyncGenerator[bytes, None]:
        """Open a stream of bytes once, without retries."""
        call = self._dressed(call)
        await self._limiter.take()
        async with aclosing(self.transport.chunks(call)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _attempt(self, call: Call, deadline: float) -> bytes:
        """Send once; after a 401 read the credentials again and send once more."""
        async with self._in_flight:
            used = self.transport.login
            try:
                return await self._send_now(call, deadline)
            except Unauthorized:
                if not await self.transport.renew(used):
                    raise
            return await self._send_now(call, deadline)

    async def _send_now(self, call: Call, deadline: float) -> bytes:
        left = deadline - self._clock.monotonic()
        if left <= 0:
            raise RequestTimeout(f"{call}: expected a turn to be sent in time, found none")
        if self.gate.fence is not None and is_mutating(call):
            self.gate.fence.check()
        return await self.transport.send(call, timeout_seconds=left)

    def _dressed(self, call: Call) -> Call:
        return replace(call, headers=call.headers + self._headers) if self._headers else call


def _decode(call: Call, body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BrokenStream(
            f"{call}: expected JSON, found {body[:40]!r}; is this an API server?"
        ) from error
