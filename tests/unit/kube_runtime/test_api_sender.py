"""The rules under which calls are sent: time, number, repetition, fence, credentials."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from kube_runtime.api_sender import MAX_IN_FLIGHT, Gate, Sender
from kube_runtime.clock import FakeClock
from kube_runtime.discovery import Discovery
from kube_runtime.errors import (
    BrokenStream,
    KindNotServed,
    LostLeadership,
    RequestTimeout,
    ServerError,
    TooManyRequests,
    Unauthorized,
)
from kube_runtime.ratelimit import TokenBucket
from kube_runtime.resource import Json, Resource
from kube_runtime.transport import Call

GET = Call("GET", "/api/v1/pods")
POST = Call("POST", "/api/v1/pods", body=b"{}")
FAILED = ServerError(500, "InternalError", "oops")
THROTTLED = TooManyRequests(429, "TooManyRequests", "slow", retry_after=2.0)
REFUSED = Unauthorized(401, "Unauthorized", "who?")


class FakeTransport:
    """Gives each call the next answer."""

    def __init__(self, clock: FakeClock, answers: list[bytes | Exception]) -> None:
        self.clock = clock
        self.answers = answers
        self.sent: list[tuple[float, Call, float]] = []
        self.login = object()
        self.can_renew = True
        self.renewals = 0
        self.hold = asyncio.Event()
        self.hold.set()
        self.now_in_flight = self.most_in_flight = 0

    async def send(self, call: Call, *, timeout_seconds: float) -> bytes:
        self.sent.append((self.clock.monotonic(), call, timeout_seconds))
        self.now_in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.now_in_flight)
        await self.hold.wait()
        self.now_in_flight -= 1
        answer = self.answers.pop(0) if self.answers else b"{}"
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def lines(
        self,
        call: Call,
        *,
        inactivity_seconds: float,  # noqa: ARG002
    ) -> AsyncGenerator[list[bytes], None]:
        yield [b"one", call.path.encode()]
        raise self.answers.pop(0)  # type: ignore[misc]

    async def renew(self, used: object) -> bool:
        assert used is self.login
        self.renewals += 1
        return self.can_renew


class Rig:
    def __init__(self, *answers: bytes | Exception, fence: Any = None) -> None:
        self.clock = FakeClock()
        self.transport = FakeTransport(self.clock, list(answers))
        transport: Any = self.transport
        self.sender = Sender(
            transport,
            limiter=TokenBucket(0, 0, clock=self.clock),
            timeout_seconds=30,
            gate=Gate(fence),
            clock=self.clock,
        )

    async def send(self, call: Call, *, timeout_seconds: float | None = None) -> Any:
        task = asyncio.create_task(self.sender.send(call, timeout_seconds=timeout_seconds))
        await self.clock.advance(120)
        return await task


async def test_an_answer_is_decoded() -> None:
    assert await Rig(b'{"a": 1}').send(GET) == {"a": 1}


async def test_an_answer_that_is_no_json_is_refused() -> None:
    with pytest.raises(BrokenStream, match="is this an API server"):
        await Rig(b"hello").send(GET)


async def test_a_repetition_has_only_the_time_that_is_left() -> None:
    rig = Rig(THROTTLED)

    await rig.send(POST, timeout_seconds=10)

    (first, _, left_first), (second, _, left_second) = rig.transport.sent
    assert (first, left_first) == (0, 10)
    assert 2 <= second <= 2.2
    assert left_second == pytest.approx(10 - second)


async def test_no_pause_goes_beyond_the_time() -> None:
    rig = Rig(THROTTLED)

    with pytest.raises(TooManyRequests):
        await rig.send(POST, timeout_seconds=1)


async def test_a_read_is_tried_six_times() -> None:
    rig = Rig(*[FAILED] * 10)

    with pytest.raises(ServerError):
        await rig.send(GET)

    assert len(rig.transport.sent) == 6


async def test_no_more_than_the_bound_is_in_flight() -> None:
    rig = Rig()
    rig.transport.hold.clear()
    tasks = [asyncio.create_task(rig.sender.send(POST)) for _ in range(MAX_IN_FLIGHT + 50)]
    await rig.clock.settle()

    assert rig.transport.now_in_flight == MAX_IN_FLIGHT

    rig.transport.hold.set()
    await asyncio.gather(*tasks)
    assert rig.transport.most_in_flight == MAX_IN_FLIGHT
    assert len(rig.transport.sent) == MAX_IN_FLIGHT + 50


async def test_a_call_whose_time_passed_while_it_queued_is_not_sent() -> None:
    rig = Rig()
    rig.transport.hold.clear()
    holders = [asyncio.create_task(rig.sender.send(POST)) for _ in range(MAX_IN_FLIGHT)]
    late = asyncio.create_task(rig.sender.send(POST, timeout_seconds=5))
    await rig.clock.advance(6)

    rig.transport.hold.set()

    with pytest.raises(RequestTimeout, match="expected a turn"):
        await late
    await asyncio.gather(*holders)
    assert len(rig.transport.sent) == MAX_IN_FLIGHT


async def test_the_side_lane_does_not_queue_behind_the_main_one() -> None:
    rig = Rig()
    lane = rig.sender.side_lane(Gate())
    rig.transport.hold.clear()
    crowd = [asyncio.create_task(rig.sender.send(POST)) for _ in range(MAX_IN_FLIGHT + 50)]
    await rig.clock.settle()

    renewal = asyncio.create_task(lane.send(Call("PUT", "/lease")))
    await rig.clock.settle()

    assert rig.transport.sent[-1][1].path == "/lease"
    rig.transport.hold.set()
    await asyncio.gather(renewal, *crowd)


class OpenOnce:
    """A fence that closes after the first check."""

    def __init__(self) -> None:
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        if self.checks > 1:
            raise LostLeadership("lost")


async def test_the_fence_is_asked_before_every_repetition() -> None:
    rig = Rig(THROTTLED, fence=OpenOnce())

    with pytest.raises(LostLeadership):
        await rig.send(POST)

    assert len(rig.transport.sent) == 1


async def test_the_fence_is_not_asked_for_reads_nor_without_one() -> None:
    fence = OpenOnce()
    rig = Rig(fence=fence)

    await rig.send(GET)
    unfenced = rig.sender.side_lane(Gate())
    await unfenced.send(POST)

    assert fence.checks == 0


async def test_after_a_401_the_credentials_are_read_once() -> None:
    rig = Rig(REFUSED)

    await rig.send(POST)

    assert rig.transport.renewals == 1
    assert len(rig.transport.sent) == 2


async def test_a_401_stays_one_when_there_are_no_other_credentials() -> None:
    rig = Rig(REFUSED)
    rig.transport.can_renew = False

    with pytest.raises(Unauthorized):
        await rig.send(POST)

    assert len(rig.transport.sent) == 1


async def test_headers_of_a_derived_sender_are_added_to_its_calls_alone() -> None:
    rig = Rig()

    await rig.sender.with_headers((("Impersonate-User", "bob"),)).send(GET)
    await rig.send(GET)

    assert [call.headers for _, call, _ in rig.transport.sent] == [
        (("Impersonate-User", "bob"),),
        (),
    ]


async def test_an_unauthorized_stream_renews_the_credentials_for_the_next() -> None:
    rig = Rig(REFUSED)
    seen = []

    with pytest.raises(Unauthorized):  # noqa: PT012 - the loop is what raises
        async for lines in rig.sender.lines(GET, inactivity_seconds=1):
            seen.append(lines)  # noqa: PERF401 - what came before the error counts

    assert seen == [[b"one", b"/api/v1/pods"]]
    assert rig.transport.renewals == 1


CORE: Json = {
    "items": [
        {
            "versions": [
                {
                    "version": "v1",
                    "resources": [
                        {
                            "resource": "nodes",
                            "responseKind": {"kind": "Node"},
                            "scope": "Cluster",
                            "verbs": ["get"],
                            "subresources": [{"subresource": "status"}],
                        },
                        {"resource": "odd"},
                    ],
                }
            ]
        }
    ]
}


def version(name: str, *, freshness: str = "Current") -> Json:
    widgets = {"resource": "widgets", "responseKind": {"kind": "Widget"}, "scope": "Namespaced"}
    return {"version": name, "resources": [widgets], "freshness": freshness}


async def test_discovery_prefers_the_first_version_and_tells_stale_groups() -> None:
    groups: Json = {
        "items": [
            {"metadata": {"name": "a.io"}, "versions": [version("v2"), version("v1")]},
            {"metadata": {"name": "b.io"}, "versions": [version("v1", freshness="Stale")]},
            {"metadata": {"name": "empty.io"}},
        ]
    }

    async def request(_: str, path: str, **__: object) -> Json:
        return CORE if path == "/api" else groups

    discovery = Discovery(request)
    await discovery.refresh()

    widgets = Resource("a.io", "v2", "widgets", "Widget")
    nodes = Resource("", "v1", "nodes", "Node", namespaced=False)
    assert discovery.find("a.io", "Widget") == widgets
    assert discovery.resource("a.io/v1", "Widget").version == "v1"
    assert discovery.find("", "Node") == nodes
    assert discovery.verbs(nodes) == {"get"}
    assert discovery.subresources(nodes) == {"status"}
    assert discovery.stale_groups == {"b.io"}
    assert len(discovery.all()) == 3
    with pytest.raises(KindNotServed, match=r"Widget of a\.io/v3"):
        discovery.resource("a.io/v3", "Widget")
    with pytest.raises(KindNotServed, match="Pod of the core group"):
        await discovery.find_fresh("", "Pod")
    absent = Resource("c.io", "v1", "x", "X")
    assert discovery.verbs(absent) == discovery.subresources(absent) == frozenset()


async def test_discovery_reads_again_before_it_gives_up() -> None:
    answers: list[Json] = [{}, {}, CORE, {}]

    async def request(*_: object, **__: object) -> Json:
        return answers.pop(0)

    discovery = Discovery(request)
    await discovery.refresh()

    assert (await discovery.find_fresh("", "Node")).plural == "nodes"
