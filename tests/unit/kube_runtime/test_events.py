"""The recorder against a fake that keeps events; the real API server is in the contract tests."""

# ruff: noqa: A002, ARG002 - the fake keeps the parameters of the client

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.clock import FakeClock
from kube_runtime.errors import AlreadyExists, Forbidden, KubeError, NotFound, Unreachable
from kube_runtime.events import EventRecorder
from kube_runtime.instrumentation import Instrumentation
from kube_runtime.resource import PODS, Json, Resource

POD: Json = {
    "metadata": {"namespace": "ns", "name": "web-1", "uid": "uid-1", "resourceVersion": "7"}
}


class Server:
    def __init__(self) -> None:
        self.events: dict[str, Json] = {}
        self.errors: list[KubeError] = []
        self.hangs = False
        self.requests = 0

    def without_fence(self) -> "Server":
        return self

    async def create(self, resource: Resource, body: Json, *, namespace: str) -> Json:
        await self._pass()
        name = body["metadata"]["name"]
        if name in self.events:
            raise AlreadyExists(409, "AlreadyExists", name)
        self.events[name] = body
        return body

    async def patch(
        self, resource: Resource, name: str, body: Json, *, namespace: str, type: PatchType
    ) -> Json:
        await self._pass()
        if name not in self.events:
            raise NotFound(404, "NotFound", name)
        self.events[name] |= body
        return self.events[name]

    async def _pass(self) -> None:
        self.requests += 1
        if self.hangs:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        if self.errors:
            raise self.errors.pop(0)

    @property
    def only(self) -> Json:
        [event] = self.events.values()
        return event


class Dropped(Instrumentation):
    def __init__(self) -> None:
        self.count = 0

    def event_dropped(self) -> None:
        self.count += 1


class Setup:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.server = Server()
        self.dropped = Dropped()
        self.recorder = EventRecorder(
            cast("ApiClient", self.server),
            "levelset-test",
            instrumentation=self.dropped,
            clock=self.clock,
        )

    def tell(self, message: str = "made", obj: Json = POD) -> None:
        self.recorder.event(obj, PODS, reason="Created", message=message)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.recorder.run())
        await self.clock.settle()
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@pytest.fixture
async def setup() -> Setup:
    return Setup()


async def test_an_event_says_who_what_and_why(setup: Setup) -> None:
    async with setup.running():
        setup.tell()
        await setup.clock.advance(1)

    event = setup.server.only
    assert event["regarding"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": "ns",
        "name": "web-1",
        "uid": "uid-1",
        "resourceVersion": "7",
    }
    assert event["reportingController"] == "levelset-test"
    assert event["reportingInstance"].startswith("levelset-test-")
    assert event["eventTime"] == "2026-01-01T00:00:00.000000Z"
    assert (event["type"], event["reason"], event["note"]) == ("Normal", "Created", "made")
    assert event["metadata"]["namespace"] == "ns"
    assert event["metadata"]["name"].startswith("web-1.")


async def test_repeats_become_a_series(setup: Setup) -> None:
    async with setup.running():
        for _ in range(3):
            setup.tell()
            await setup.clock.advance(1)

    assert setup.server.only["series"] == {
        "count": 3,
        "lastObservedTime": "2026-01-01T00:00:02.000000Z",
    }


async def test_a_series_whose_object_was_deleted_goes_on_in_a_new_one(setup: Setup) -> None:
    async with setup.running():
        setup.tell()
        await setup.clock.advance(1)
        setup.server.events.clear()
        for _ in range(2):
            setup.tell()
            await setup.clock.advance(1)

    assert setup.server.only["series"]["count"] == 2


async def test_an_event_of_a_cluster_wide_object_goes_to_default(setup: Setup) -> None:
    async with setup.running():
        setup.tell(obj={"metadata": {"name": "node-1", "uid": "uid-2"}})
        await setup.clock.advance(1)

    event = setup.server.only
    assert event["metadata"]["namespace"] == "default"
    assert "namespace" not in event["regarding"]


async def test_what_cannot_be_told_is_dropped_without_a_word_to_the_caller(setup: Setup) -> None:
    setup.tell(obj={})

    assert setup.dropped.count == 1


async def test_a_full_queue_drops_the_newest(setup: Setup) -> None:
    for number in range(1005):
        setup.tell(f"made {number}")

    assert setup.dropped.count == 5


async def test_a_passing_failure_is_tried_again(setup: Setup) -> None:
    setup.server.errors = [Unreachable("refused"), Unreachable("refused")]

    async with setup.running():
        setup.tell()
        await setup.clock.advance(7)

    assert setup.server.only["note"] == "made"
    assert setup.dropped.count == 0


async def test_an_outage_costs_one_event_after_the_other_and_not_the_recorder(
    setup: Setup,
) -> None:
    setup.server.errors = [Unreachable("refused")] * 4

    async with setup.running():
        setup.tell("first")
        setup.tell("second")
        await setup.clock.advance(20)

    assert setup.server.only["note"] == "second"
    assert setup.dropped.count == 1


async def test_a_refusal_is_not_tried_again_and_the_next_one_starts_anew(setup: Setup) -> None:
    setup.server.errors = [Forbidden(403, "Forbidden", "namespace is being terminated")]

    async with setup.running():
        setup.tell()
        await setup.clock.advance(1)
        setup.tell()
        await setup.clock.advance(1)

    assert setup.server.requests == 2
    assert setup.dropped.count == 1
    assert "series" not in setup.server.only


async def test_a_lost_answer_does_not_make_two_events(setup: Setup) -> None:
    class Lossy(Server):
        async def create(self, resource: Resource, body: Json, *, namespace: str) -> Json:
            made = await super().create(resource, body, namespace=namespace)
            if self.requests == 1:
                raise Unreachable("reset")
            return made

    setup.server = Lossy()
    setup.recorder = EventRecorder(cast("ApiClient", setup.server), "test", clock=setup.clock)

    async with setup.running():
        setup.tell()
        await setup.clock.advance(2)

    assert setup.server.only["note"] == "made"
    assert setup.server.requests == 2


async def test_what_is_left_at_the_stop_is_still_written(setup: Setup) -> None:
    async with setup.running():
        setup.tell()

    assert setup.server.only["note"] == "made"


async def test_the_stop_does_not_wait_for_ever(setup: Setup) -> None:
    task = asyncio.create_task(setup.recorder.run())
    setup.server.hangs = True
    setup.tell()
    await setup.clock.settle()

    task.cancel()
    await setup.clock.advance(3)

    assert task.cancelled()
    assert setup.dropped.count == 1


async def test_a_long_note_and_a_long_name_are_cut_to_what_the_api_takes(setup: Setup) -> None:
    long = {"metadata": {"namespace": "ns", "name": "x" * 253, "uid": "u"}}

    async with setup.running():
        setup.tell("ü" * 2000, obj=long)
        await setup.clock.advance(1)

    event = setup.server.only
    assert len(event["note"].encode()) <= 1024
    assert event["note"].endswith("ü…")
    assert len(event["metadata"]["name"]) <= 253
