"""Events of events.k8s.io/v1, recorded without ever getting in the way.

Reconcilers call event(), which only puts it into a bounded queue; run(), one of the `always` tasks
of the process, writes them. An event that cannot be kept or written is dropped and counted:
events are for people, nothing may depend on them. Notes hold no secrets and no whole objects.
Writes go through a client without fence: what a former leader did is still worth telling.
"""

import asyncio
import contextlib
import itertools
import logging
import os
import socket
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from kube_runtime import logs
from kube_runtime.api import ApiClient, PatchType
from kube_runtime.clock import SYSTEM_CLOCK, Clock, deadline
from kube_runtime.errors import (
    AlreadyExists,
    KubeError,
    NotFound,
    RequestTimeout,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from kube_runtime.event_series import Decision, EventSeries, Subject
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.resource import EVENTS, Json, Key, Resource, resource_version_of, uid_of

EventType = Literal["Normal", "Warning"]

_log: Final = logging.getLogger(__name__)
_MAX_NOTE: Final = 1024  # bytes; the limits of events.k8s.io/v1
_MAX_WORD: Final = 128
_MAX_NAME: Final = 253
_QUEUE_SIZE: Final = 1000
_RETRY_DELAYS_SECONDS: Final = (1.0, 5.0, 10.0)
_PASSING: Final = (Unreachable, RequestTimeout, ServerError, TooManyRequests)


@dataclass(frozen=True, slots=True)
class _Event:
    subject: Subject
    note: str
    regarding: Json
    namespace: str
    name: str
    at: datetime


class EventRecorder:
    """Writes the events of one component."""

    def __init__(
        self,
        api: ApiClient,
        component: str,
        *,
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
        clock: Clock = SYSTEM_CLOCK,
        flush_seconds: float = 3.0,
        instance: str = "",
    ) -> None:
        self._api = api.without_fence()
        self._component = component
        self._instance = (instance or f"{component}-{socket.gethostname()}")[:_MAX_WORD]
        self._instrumentation = instrumentation
        self._clock = clock
        self._flush_seconds = flush_seconds
        self._queue: deque[_Event] = deque()
        self._wakeup = asyncio.Event()
        self._series = EventSeries()
        # A name of its own for each event, also after a restart within the same microsecond.
        self._numbers = itertools.count(int.from_bytes(os.urandom(4)))

    def event(
        self,
        obj: Json,
        resource: Resource,
        *,
        type: EventType = "Normal",  # noqa: A002 - what the API calls it
        reason: str,
        message: str,
        action: str = "Reconcile",
    ) -> None:
        """Tell what happened to an object; never blocks, never raises."""
        try:
            event = self._event(obj, resource, Subject(uid_of(obj), type, reason, action), message)
        except Exception:  # noqa: BLE001 - an event must never fail what it tells about
            _log.warning("event unusable", extra=logs.fields(reason=reason), exc_info=True)
            self._instrumentation.event_dropped()
            return
        if len(self._queue) >= _QUEUE_SIZE:
            self._instrumentation.event_dropped()
            return
        self._queue.append(event)
        self._wakeup.set()

    async def run(self) -> None:
        """Write events until cancelled, then what is left for at most flush_seconds."""
        try:
            while True:
                await self._drain()
                self._wakeup.clear()
                await self._wakeup.wait()
        finally:
            await self._flush()

    async def _drain(self) -> None:
        while self._queue:
            await self._record(self._queue[0])
            self._queue.popleft()

    async def _flush(self) -> None:
        try:
            async with deadline(self._clock, self._flush_seconds):
                await self._drain()
        except TimeoutError:
            for _ in self._queue:
                self._instrumentation.event_dropped()
            _log.warning("events dropped at the end", extra=logs.fields(count=len(self._queue)))
            self._queue.clear()

    async def _record(self, event: _Event) -> None:
        now = self._clock.monotonic()
        decision = self._series.observe(event.subject, event.note, name=event.name, now=now)
        if decision is None:
            self._instrumentation.event_dropped()
            return
        for delay in (*_RETRY_DELAYS_SECONDS, None):
            try:
                await self._write(event, decision)
            except KubeError as error:
                if delay is None or not isinstance(error, _PASSING):
                    self._give_up(event, decision, error)
                    return
                await self._clock.sleep(max(delay, error.retry_after or 0.0))
            else:
                return

    def _give_up(self, event: _Event, decision: Decision, error: KubeError) -> None:
        self._series.forget(event.subject, decision.note)
        self._instrumentation.event_dropped()
        _log.warning(
            "event refused",
            extra=logs.fields(
                object=event.regarding.get("name"),
                event=event.subject.reason,
                reason=error.reason,
                error=error.diagnostics(),
            ),
        )

    async def _write(self, event: _Event, decision: Decision) -> None:
        try:
            if decision.times > 1:
                await self._patch_series(event, decision)
            else:
                await self._create(event, decision.name, decision.note)
        except NotFound:
            if decision.times == 1:
                raise  # the namespace is gone
            now = self._clock.monotonic()
            self._series.restart(event.subject, decision.note, name=event.name, now=now)
            await self._create(event, event.name, decision.note)

    async def _create(self, event: _Event, name: str, note: str) -> None:
        body = self._body(event, name, note)
        with contextlib.suppress(AlreadyExists):  # our own POST, repeated as its answer got lost
            await self._api.create(EVENTS, body, namespace=event.namespace)

    async def _patch_series(self, event: _Event, decision: Decision) -> None:
        series = {"count": decision.times, "lastObservedTime": _micro_time(event.at)}
        await self._api.patch(
            EVENTS,
            decision.name,
            {"series": series},
            namespace=event.namespace,
            type=PatchType.MERGE,
        )

    def _body(self, event: _Event, name: str, note: str) -> Json:
        return {
            "apiVersion": EVENTS.api_version,
            "kind": EVENTS.kind,
            "metadata": {"name": name, "namespace": event.namespace},
            "eventTime": _micro_time(event.at),
            "reportingController": self._component,
            "reportingInstance": self._instance,
            "action": event.subject.action,
            "reason": event.subject.reason,
            "type": event.subject.type,
            "regarding": event.regarding,
            "note": _cut(note, _MAX_NOTE),
        }

    def _event(self, obj: Json, resource: Resource, subject: Subject, message: str) -> _Event:
        key = Key.of(obj)
        suffix = f".{next(self._numbers):x}"
        regarding = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": key.name,
            "namespace": key.namespace,
            "uid": uid_of(obj),
            "resourceVersion": resource_version_of(obj),
        }
        return _Event(
            subject=subject._replace(
                reason=subject.reason[:_MAX_WORD], action=subject.action[:_MAX_WORD]
            ),
            note=message,
            regarding={name: value for name, value in regarding.items() if value},
            namespace=key.namespace or "default",  # where the API wants those of cluster objects
            name=key.name[: _MAX_NAME - len(suffix)] + suffix,
            at=self._clock.now(),
        )


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _cut(text: str, limit: int) -> str:
    """Shorten to so many bytes, between two characters."""
    encoded = text.encode()
    if len(encoded) <= limit:
        return text
    return encoded[: limit - 3].decode("utf-8", "ignore") + "…"
