"""Runs a reconciler over the keys of a queue: workers, timeout, resync, back-off, metrics.

Handlers and informers add keys to `queue`; run() is one of the `leading` tasks of the process.
This is the loop's edge: the one place that catches every exception, counts it, logs it with the
object's key and puts the key back. A reconciler raises what it cannot handle and holds no state
that a second call would miss. Results are counted as controller-runtime counts them.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Final, Protocol

from kube_runtime import logs
from kube_runtime.clock import SYSTEM_CLOCK, Clock, deadline
from kube_runtime.errors import LevelsetError
from kube_runtime.instrumentation import (
    NO_INSTRUMENTATION,
    Instrumentation,
    ReconcileResult,
)
from kube_runtime.resource import Key
from kube_runtime.workqueue import QueueShutDown, WorkQueue

_log: Final = logging.getLogger(__name__)
_UNFINISHED_INTERVAL_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Result:
    """What a reconcile that did not fail wants next."""

    requeue_after: float | None = None  # seconds; None waits for the next change or resync
    requeue: bool = False  # with back-off: not there yet, and nothing will tell us when

    DONE: ClassVar["Result"]


Result.DONE = Result()


class Reconciler(Protocol):
    """Brings the world of one key level with its spec."""

    async def reconcile(self, key: Key) -> Result:
        """Look at what is there and act; safe at any time, any number of times."""


def _no_keys() -> Iterable[Key]:
    return ()


class Controller:
    """A reconciler with its queue and its workers."""

    def __init__(
        self,
        name: str,
        reconciler: Reconciler,
        *,
        queue: WorkQueue[Key] | None = None,
        workers: int = 5,
        reconcile_timeout_seconds: float = 60.0,
        resync_seconds: float = 600.0,
        resync_keys: Callable[[], Iterable[Key]] = _no_keys,
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.name = name
        self.queue = (
            queue
            if queue is not None
            else WorkQueue[Key](name, instrumentation=instrumentation, clock=clock)
        )
        self._reconciler = reconciler
        self._workers = workers
        self._timeout_seconds = reconcile_timeout_seconds
        self._resync_seconds = resync_seconds
        self._resync_keys = resync_keys
        self._instrumentation = instrumentation
        self._clock = clock
        self._active = 0

    async def run(self) -> None:
        """Work until cancelled; may be run again, for instance after the lease was lost and won."""
        self._instrumentation.controller_started(self.name, self._workers)
        async with asyncio.TaskGroup() as background:
            chores = [
                background.create_task(self._resync(), name=f"{self.name} resync"),
                background.create_task(self._tell_unfinished(), name=f"{self.name} unfinished"),
            ]
            async with asyncio.TaskGroup() as workers:
                for number in range(self._workers):
                    workers.create_task(self._work(), name=f"{self.name} worker {number}")
            for chore in chores:  # only a queue that was shut down lets the workers end
                chore.cancel()

    async def _work(self) -> None:
        while True:
            try:
                key = await self.queue.get()
            except QueueShutDown:
                return
            try:
                await self._process(key)
            except asyncio.CancelledError:
                self.queue.add(key)  # half done: whoever runs next takes it up
                raise
            finally:
                self.queue.done(key)

    async def _process(self, key: Key) -> None:
        started = self._clock.monotonic()
        self._set_active(+1)
        try:
            result = await self._reconcile(key)
        finally:
            self._set_active(-1)
        seconds = self._clock.monotonic() - started
        self._instrumentation.reconcile_finished(self.name, result, seconds)

    async def _reconcile(self, key: Key) -> ReconcileResult:
        """Call the reconciler and say how it went; nothing but a cancellation gets out."""
        try:
            async with deadline(self._clock, self._timeout_seconds) as limit:
                result = await self._reconciler.reconcile(key)
        except asyncio.CancelledError as error:
            if _is_own_cancellation():
                raise
            return self._panicked(key, error)  # it awaited something that others cancelled
        except Exception as error:  # noqa: BLE001 - one object must not stop the rest
            if isinstance(error, TimeoutError) and limit.expired:
                return self._timed_out(key)
            expected = _expected(error)
            return self._failed(key, expected) if expected else self._panicked(key, error)
        return self._succeeded(key, result)

    def _succeeded(self, key: Key, result: Result) -> ReconcileResult:
        if result.requeue:
            self.queue.add_rate_limited(key)
            return "requeue"
        self.queue.forget(key)
        if result.requeue_after is not None:
            self.queue.add_after(key, result.requeue_after)
            return "requeue_after"
        return "success"

    def _failed(self, key: Key, error: LevelsetError) -> ReconcileResult:
        """Come back when the error says, or after the back-off; it is logged, not traced."""
        _log.warning(
            "reconcile failed",
            extra=logs.fields(
                controller=self.name,
                object=key,
                reason=error.reason,
                retry_after=error.retry_after,
                failures=self.queue.failures(key) + 1,
                error=error.diagnostics(),
            ),
        )
        if error.retry_after:
            self.queue.add_after(key, error.retry_after)
        else:
            self.queue.add_rate_limited(key)
        return "error"

    def _timed_out(self, key: Key) -> ReconcileResult:
        _log.warning(
            "reconcile timed out",
            extra=logs.fields(controller=self.name, object=key, seconds=self._timeout_seconds),
        )
        self._instrumentation.reconcile_timed_out(self.name)
        self.queue.add_rate_limited(key)
        return "error"

    def _panicked(self, key: Key, error: BaseException) -> ReconcileResult:
        _log.error(
            "reconcile panicked",
            extra=logs.fields(controller=self.name, object=key, error=repr(error)),
            exc_info=error,
        )
        self._instrumentation.reconcile_panicked(self.name)
        self.queue.add_rate_limited(key)
        return "error"

    async def _resync(self) -> None:
        """Look at everything once at the start and then every so often, whatever the events say."""
        while True:
            self._add_all()
            await self._clock.sleep(self._resync_seconds)

    def _add_all(self) -> None:
        try:
            keys = list(self._resync_keys())
        except Exception:  # noqa: BLE001 - a resync that fails once must not end the controller
            self._instrumentation.reconcile_panicked(self.name)
            _log.exception("resync failed", extra=logs.fields(controller=self.name))
            return
        for key in keys:
            self.queue.add(key)

    async def _tell_unfinished(self) -> None:
        while True:
            total, longest = self.queue.unfinished()
            self._instrumentation.queue_unfinished(self.queue.name, total, longest)
            await self._clock.sleep(_UNFINISHED_INTERVAL_SECONDS)

    def _set_active(self, step: int) -> None:
        self._active += step
        self._instrumentation.active_workers(self.name, self._active)


def _is_own_cancellation() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _expected(error: Exception) -> LevelsetError | None:
    """Find the error to act on, also in the group that a TaskGroup makes; None for a bug."""
    if isinstance(error, LevelsetError):
        return error
    if not isinstance(error, ExceptionGroup):
        return None
    parts = [_expected(part) for part in error.exceptions]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return max(known, key=lambda part: part.retry_after or 0.0)
