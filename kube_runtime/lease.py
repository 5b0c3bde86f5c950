"""Leader election by a Lease, with a fence that stops a former leader from writing.

One process of a kind leads; run() acquires the lease, runs the work while it is held, cancels the
work when it is lost, and tries again. The fence is asked by the ApiClient right before each write
and says no as soon as the local deadline has passed, even if this process was frozen and has not
noticed its loss: the deadline ends before anybody else may take the lease.
The elector's own requests go through a client without fence.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final

from kube_runtime import logs
from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK, Clock, deadline
from kube_runtime.errors import AlreadyExists, Conflict, KubeError, LostLeadership, NotFound
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.lease_record import LeaseRecord, Observation, new_lease
from kube_runtime.resource import LEASES, Json, Key

_log: Final = logging.getLogger(__name__)
_JITTER: Final = 1.2  # client-go's: candidates that started together drift apart
_RELEASE_SECONDS: Final = 3.0


def times_fit(retry_seconds: float, renew_seconds: float, lease_seconds: float) -> bool:
    """Tell whether a leader can renew in time, and has stopped writing before the next one starts."""
    return 0 < retry_seconds * _JITTER < renew_seconds < lease_seconds


class LeaseFence:
    """Says whether writing is still allowed; open only until a deadline that renewals push on."""

    def __init__(self, key: Key, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._key = key
        self._clock = clock
        self._deadline: float | None = None

    def check(self) -> None:
        """Raise LostLeadership unless the lease is held, by our own clock."""
        if self.remaining_seconds() <= 0:
            raise LostLeadership(
                f"lease {self._key}: expected to hold it before a write, found it "
                f"{'not held' if self._deadline is None else 'expired'}; the leader will do it"
            )

    def remaining_seconds(self) -> float:
        """Tell how long writes are still allowed."""
        return 0.0 if self._deadline is None else self._deadline - self._clock.monotonic()

    def open_until(self, deadline_: float) -> None:
        """Allow writes until this moment of the monotonic clock."""
        self._deadline = deadline_

    def close(self) -> None:
        """Allow no more writes."""
        self._deadline = None


class LeaderElector:
    """Holds one Lease for one process."""

    def __init__(
        self,
        api: ApiClient,
        *,
        name: str,
        namespace: str,
        identity: str,
        lease_seconds: int = 15,
        renew_seconds: float = 10.0,
        retry_seconds: float = 2.0,
        clock: Clock = SYSTEM_CLOCK,
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
    ) -> None:
        if not times_fit(retry_seconds, renew_seconds, lease_seconds):
            raise ValueError(
                "expected retry < renew < lease seconds, found "
                f"{retry_seconds}, {renew_seconds}, {lease_seconds}"
            )
        self._api = api.without_fence()
        self._key = Key(namespace, name)
        self._identity = identity
        self._lease_seconds = lease_seconds
        self._renew_seconds = renew_seconds
        self._retry_seconds = retry_seconds
        self._clock = clock
        self._instrumentation = instrumentation
        self._lease: Json | None = None  # as last seen, with the resourceVersion to write on
        self._seen: Observation | None = None
        self._last_failure = ""
        self.fence = LeaseFence(self._key, clock=clock)

    @property
    def is_leading(self) -> bool:
        """Whether this process may write at this moment."""
        return self.fence.remaining_seconds() > 0

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Lead whenever the lease is ours, until cancelled or until lead() returns by itself."""
        self._instrumentation.leader(self._key.name, is_leading=False)
        has_finished = False
        while not has_finished:
            await self._acquire()
            try:
                has_finished = await self._lead(lead)
            finally:
                await self._stop_leading()

    async def _acquire(self) -> None:
        while not await self._attempt(self._renew_seconds):
            await self._clock.sleep(self._retry_seconds * random.uniform(1.0, _JITTER))  # noqa: S311 - no secret
        self._instrumentation.leader(self._key.name, is_leading=True)
        _log.info("lease acquired", extra=logs.fields(lease=self._key, identity=self._identity))

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> bool:
        """Run the work beside the renewals; True when the work ended by itself."""
        async with asyncio.TaskGroup() as tasks:
            work = tasks.create_task(_call(lead), name=f"leading {self._key}")
            renewals = tasks.create_task(self._keep(), name=f"renewing {self._key}")
            await asyncio.wait({work, renewals}, return_when=asyncio.FIRST_COMPLETED)
            has_finished = work.done()
            self.fence.close()
            work.cancel()
            renewals.cancel()
        return has_finished

    async def _keep(self) -> None:
        """Renew until the lease is lost."""
        while (remaining := self.fence.remaining_seconds()) > 0:
            await self._clock.sleep(min(self._retry_seconds, remaining))
            remaining = self.fence.remaining_seconds()
            if remaining > 0:
                # Half of the time for one attempt leaves another for the next connection.
                await self._attempt(min(remaining, self._renew_seconds / 2))
            if self._seen is not None and self._seen.record.holder != self._identity:
                return

    async def _stop_leading(self) -> None:
        self.fence.close()
        self._instrumentation.leader(self._key.name, is_leading=False)
        _log.info("lease let go", extra=logs.fields(lease=self._key, identity=self._identity))
        await self._release()

    async def _attempt(self, seconds: float) -> bool:
        """Try once to take or renew the lease; every failure is a False."""
        started = self._clock.monotonic()
        try:
            async with deadline(self._clock, seconds):
                is_held = await self._take()
        except TimeoutError:
            self._tell_failure("Timeout", f"no answer within {seconds:.1f} s")
            return False
        except KubeError as error:
            self._tell_failure(error.reason, error.diagnostics())
            return False
        self._last_failure = ""
        if is_held:
            # From before the request: the others count from when the API server had it.
            self.fence.open_until(started + self._renew_seconds)
        return is_held

    async def _take(self) -> bool:
        """Write our record if the lease is free for us; False when somebody else has it."""
        if self._lease is None or self._seen is None or self._seen.record.holder != self._identity:
            await self._observe()
        now = self._clock.monotonic()
        if self._seen is None or not self._seen.is_free_for(self._identity, now):
            return False
        record = self._seen.record.held_by(
            self._identity, lease_seconds=self._lease_seconds, now=self._clock.now()
        )
        try:
            await self._write(record)
        except (Conflict, NotFound, AlreadyExists):
            self._lease = None  # somebody was faster: look before the next attempt
            await self._observe()
            return False
        return True

    async def _observe(self) -> None:
        try:
            lease = await self._api.get(LEASES, self._key.name, namespace=self._key.namespace)
        except NotFound:
            lease = new_lease(self._key)
        self._remember(lease)

    async def _write(self, record: LeaseRecord) -> None:
        lease = record.write_into(self._lease or new_lease(self._key))
        if "resourceVersion" in lease["metadata"]:
            self._remember(await self._api.replace(LEASES, lease))
        else:
            self._remember(await self._api.create(LEASES, lease))

    def _remember(self, lease: Json) -> None:
        record, now = LeaseRecord.parse(lease), self._clock.monotonic()
        self._lease = lease
        self._seen = (
            Observation(record, now) if self._seen is None else self._seen.seeing(record, now)
        )

    async def _release(self) -> None:
        """Let the next one in at once; if that fails, it waits for the lease to run out."""
        if self._seen is None or self._seen.record.holder != self._identity:
            return
        try:
            async with deadline(self._clock, _RELEASE_SECONDS):
                await self._write_release(self._seen)
        except (KubeError, TimeoutError) as error:
            self._tell_failure("ReleaseFailed", str(error))

    async def _write_release(self, seen: Observation) -> None:
        try:
            await self._write(seen.record.released(now=self._clock.now()))
        except Conflict:
            # A renewal that was cancelled may have been written all the same: look, and go again.
            await self._observe()
            if self._seen is not None and self._seen.record.holder == self._identity:
                await self._write(self._seen.record.released(now=self._clock.now()))

    def _tell_failure(self, reason: str, message: str) -> None:
        if reason != self._last_failure:  # once, not every two seconds of an outage
            _log.warning(
                "lease attempt failed",
                extra=logs.fields(lease=self._key, reason=reason, error=message),
            )
        self._last_failure = reason


async def _call(lead: Callable[[], Awaitable[None]]) -> None:
    await lead()
