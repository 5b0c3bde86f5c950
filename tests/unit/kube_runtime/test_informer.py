"""What an informer tells its handlers, and how it goes on after failures."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from kube_runtime.api_answers import ListResult, WatchEvent
from kube_runtime.clock import FakeClock
from kube_runtime.errors import (
    BrokenStream,
    Forbidden,
    Gone,
    RequestTimeout,
    ServerError,
    TooManyRequests,
    Unreachable,
)
from kube_runtime.informer import Informer, drop_managed_fields
from kube_runtime.informer_mirror import Mirror
from kube_runtime.informer_pauses import Pauses, can_resume
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.resource import PODS, Json, Key


def pod(name: str = "web", *, uid: str = "u-1", version: str = "1") -> Json:
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": version}}


def gone() -> Gone:
    return Gone(410, "Expired", "too old")


class Told:
    """A handler that writes down what it hears, as (name of old, name of new)."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, str]] = []

    def __call__(self, old: Json | None, new: Json | None) -> None:
        self.changes.append((_short(old), _short(new)))


def _short(obj: Json | None) -> str:
    if obj is None:
        return "-"
    metadata = obj["metadata"]
    return f"{metadata['uid']}@{metadata['resourceVersion']}"


class Failures(Instrumentation):
    """Counts what a mirror and an informer report."""

    def __init__(self) -> None:
        self.failed_handlers = 0
        self.sizes: list[int] = []
        self.reasons: list[str] = []

    def handler_failed(self, kind: str) -> None:  # noqa: ARG002
        self.failed_handlers += 1

    def store_size(self, kind: str, size: int) -> None:  # noqa: ARG002
        self.sizes.append(size)

    def watch_restarted(self, kind: str, reason: str) -> None:  # noqa: ARG002
        self.reasons.append(reason)


@pytest.fixture
def mirror() -> Mirror:
    return Mirror(PODS, {}, drop_managed_fields, NO_INSTRUMENTATION)


@pytest.fixture
def told(mirror: Mirror) -> Told:
    handler = Told()
    mirror.on_change(handler)
    return handler


def test_add_update_and_delete_are_told_with_both_states(mirror: Mirror, told: Told) -> None:
    mirror.apply(WatchEvent("ADDED", pod(version="1")))
    mirror.apply(WatchEvent("MODIFIED", pod(version="2")))
    mirror.apply(WatchEvent("DELETED", pod(version="3")))

    assert told.changes == [("-", "u-1@1"), ("u-1@1", "u-1@2"), ("u-1@3", "-")]
    assert mirror.store.resource_version == "3"
    assert len(mirror.store) == 0


def test_another_uid_under_the_same_name_is_a_deletion_and_an_addition(
    mirror: Mirror, told: Told
) -> None:
    mirror.apply(WatchEvent("ADDED", pod(uid="u-1", version="1")))
    mirror.apply(WatchEvent("MODIFIED", pod(uid="u-2", version="2")))

    assert told.changes[1:] == [("u-1@1", "-"), ("-", "u-2@2")]


def test_a_list_tells_only_what_differs(mirror: Mirror, told: Told) -> None:
    for name in ("same", "changes", "goes"):
        mirror.upsert(pod(name, uid=name))
    told.changes.clear()

    listed = {
        mirror.upsert(obj)
        for obj in (pod("same", uid="same"), pod("changes", uid="changes", version="2"))
    }
    mirror.prune(listed, "9")

    assert told.changes == [("changes@1", "changes@2"), ("goes@1", "-")]
    assert mirror.store.resource_version == "9"


def test_the_deletion_of_what_is_not_there_is_not_told(mirror: Mirror, told: Told) -> None:
    mirror.apply(WatchEvent("DELETED", pod(version="5")))

    assert told.changes == []
    assert mirror.store.resource_version == "5"


def test_a_bookmark_moves_the_version_alone(mirror: Mirror, told: Told) -> None:
    mirror.apply(WatchEvent("BOOKMARK", {"metadata": {"resourceVersion": "77"}}))

    assert mirror.store.resource_version == "77"
    assert told.changes == []


def test_an_unknown_event_is_refused(mirror: Mirror) -> None:
    with pytest.raises(BrokenStream, match="RENAMED"):
        mirror.apply(WatchEvent("RENAMED", pod()))


def test_a_late_handler_hears_of_what_is_there(mirror: Mirror) -> None:
    mirror.upsert(pod())
    late = Told()

    mirror.on_change(late)

    assert late.changes == [("-", "u-1@1")]


def test_a_handler_that_raises_is_counted_and_the_others_hear(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failures = Failures()
    mirror = Mirror(PODS, {}, drop_managed_fields, failures)
    told = Told()
    mirror.on_change(lambda old, new: 1 // 0)  # type: ignore[arg-type]  # noqa: ARG005
    mirror.on_change(told)

    mirror.apply(WatchEvent("ADDED", pod()))

    assert failures.failed_handlers == 1
    assert failures.sizes == [1]
    assert told.changes == [("-", "u-1@1")]
    assert "informer handler failed" in caplog.text


def test_managed_fields_are_left_out() -> None:
    obj: Json = {"metadata": {"name": "x", "managedFields": [{}]}}

    assert drop_managed_fields(obj) == {"metadata": {"name": "x"}}


@pytest.mark.parametrize(
    ("error", "resumes"),
    [
        (Unreachable("cut"), True),
        (TooManyRequests(429, "TooManyRequests", "slow"), True),
        (ServerError(500, "InternalError", "oops"), True),
        (Forbidden(403, "Forbidden", "no"), True),
        (gone(), False),
        (RequestTimeout("silence"), False),
        (BrokenStream("half"), False),
        (ValueError("a bug"), False),
    ],
)
def test_only_what_loses_nothing_is_resumed(error: Exception, resumes: bool) -> None:  # noqa: FBT001
    assert can_resume(error) is resumes


def test_an_error_event_is_never_resumed() -> None:
    error = ServerError(500, "InternalError", "oops")
    error.in_stream = True

    assert not can_resume(error)


def test_pauses_double_up_to_half_a_minute_and_start_again() -> None:
    pauses = Pauses(lambda: 1.0)

    seconds = [pauses.after(None) for _ in range(12)]
    pauses.reset()

    assert seconds[:4] == [0.2, 0.4, 0.8, 1.6]
    assert seconds[-1] == 30
    assert pauses.after(None) == 0.2


def test_the_servers_wish_is_a_lower_bound() -> None:
    pauses = Pauses(lambda: 0.0)

    assert pauses.after(TooManyRequests(429, "TooManyRequests", "slow", retry_after=9)) == 9
    assert pauses.after(ValueError("a bug")) == 0.2


Step = Callable[[], AsyncGenerator[WatchEvent, None]]


class FakeApi:
    """Answers each list and each watch with the next thing it was given; then waits for ever."""

    def __init__(self, lists: list[ListResult | Exception], watches: list[Any]) -> None:
        self.lists = lists
        self.watches = watches
        self.log: list[str] = []

    async def list(self, *_: object, **__: object) -> ListResult:
        self.log.append("list")
        await asyncio.sleep(0)
        answer = self.lists.pop(0) if self.lists else ListResult([], "99")
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def watch(
        self, *_: object, resource_version: str, **__: object
    ) -> AsyncGenerator[WatchEvent, None]:
        self.log.append(f"watch {resource_version}")
        for event in self.watches.pop(0) if self.watches else [None]:
            if event is None:
                await asyncio.Event().wait()
            elif isinstance(event, Exception):
                raise event
            else:
                yield event


class Running:
    """An informer over a fake API, on a clock that the test moves."""

    def __init__(self, lists: list[ListResult | Exception], watches: list[Any]) -> None:
        self.api = FakeApi(lists, watches)
        self.clock = FakeClock()
        self.failures = Failures()
        api: Any = self.api
        self.informer = Informer(api, PODS, instrumentation=self.failures, clock=self.clock)
        self.task = asyncio.create_task(self.informer.run())

    async def stop(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])
        assert self.task.cancelled()


ONE = ListResult([pod()], "10")
ADDED = WatchEvent("ADDED", pod("new", uid="new", version="11"))


async def test_a_watch_starts_where_the_list_ended() -> None:
    running = Running([ONE], [[ADDED, None]])

    await running.clock.settle()

    assert running.api.log == ["list", "watch 10"]
    assert running.informer.has_synced
    assert running.informer.store.keys() == {Key("", "web"), Key("", "new")}
    await running.stop()


async def test_a_watch_that_ends_in_good_order_goes_on_from_the_last_version() -> None:
    running = Running([ONE], [[ADDED], [None]])

    await running.clock.settle()

    assert running.api.log == ["list", "watch 10", "watch 11"]
    await running.stop()


@pytest.mark.parametrize(
    ("error", "then"),
    [
        (Unreachable("cut"), ["watch 11"]),
        (ServerError(500, "InternalError", "oops"), ["watch 11"]),
        (gone(), ["list", "watch 20"]),
        (RequestTimeout("silence"), ["list", "watch 20"]),
        (BrokenStream("half"), ["list", "watch 20"]),
        (ValueError("a bug"), ["list", "watch 20"]),
        (TimeoutError(), ["list", "watch 20"]),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_after_an_error_it_resumes_or_lists(error: Exception, then: list[str]) -> None:
    running = Running([ONE, ListResult([], "20")], [[ADDED, error], [None]])
    await running.clock.settle()
    assert running.api.log == ["list", "watch 10"]

    await running.clock.advance(0.2)

    assert running.api.log == ["list", "watch 10", *then]
    assert len(running.failures.reasons) == 1
    await running.stop()


async def test_failing_lists_are_tried_less_and_less_often() -> None:
    running = Running([ServerError(500, "InternalError", "oops")] * 100, [])

    await running.clock.advance(60)

    assert 8 <= running.api.log.count("list") <= 12
    assert not running.informer.has_synced
    await running.stop()


async def test_watches_that_end_at_once_are_tried_less_and_less_often() -> None:
    running = Running([ONE], [[] for _ in range(100)])

    await running.clock.advance(60)

    assert 8 <= len(running.api.log) <= 13
    await running.stop()


async def test_a_410_at_every_watch_is_no_hot_loop_of_lists() -> None:
    running = Running([ONE] * 100, [[gone()] for _ in range(100)])

    await running.clock.advance(60)

    assert 8 <= running.api.log.count("list") <= 13
    await running.stop()


async def test_waiting_for_the_first_list_ends_with_the_reason() -> None:
    running = Running([Forbidden(403, "Forbidden", "no right")] * 100, [])
    waiting = asyncio.create_task(running.informer.wait_synced(5))

    await running.clock.advance(6)

    with pytest.raises(RequestTimeout, match="no right"):
        await waiting
    await running.stop()


async def test_waiting_ends_when_the_first_list_is_there() -> None:
    running = Running([ONE], [])

    await running.informer.wait_synced(5)

    assert len(running.informer.store) == 1
    await running.stop()


async def test_a_relist_interrupts_the_watch_and_is_shared() -> None:
    running = Running([ONE, ListResult([], "20")], [[None], [None]])
    await running.clock.settle()

    await asyncio.gather(running.informer.relist(), running.informer.relist())
    await running.clock.settle()

    assert running.api.log == ["list", "watch 10", "list", "watch 20"]
    assert len(running.informer.store) == 0
    await running.stop()


async def test_a_relist_asked_for_during_a_list_starts_after_it() -> None:
    running = Running([ONE, ListResult([], "20")], [[None]])
    await asyncio.sleep(0)
    assert running.api.log == ["list"]

    await running.informer.relist()

    assert running.api.log[:2] == ["list", "list"]
    await running.stop()


async def test_a_relist_survives_a_failing_list() -> None:
    running = Running([ONE, ServerError(500, "InternalError", "oops"), ONE], [[None], [None]])
    await running.clock.settle()
    relisting = asyncio.create_task(running.informer.relist())

    await running.clock.advance(1)

    await relisting
    assert running.api.log.count("list") == 3
    await running.stop()


async def test_a_relist_that_takes_too_long_says_so() -> None:
    running = Running([ONE, *[ServerError(500, "InternalError", "oops")] * 9], [[None]])
    await running.clock.settle()
    relisting = asyncio.create_task(running.informer.relist(timeout_seconds=1))

    await running.clock.advance(2)

    with pytest.raises(RequestTimeout, match="oops"):
        await relisting
    await running.stop()


async def test_a_relist_whose_caller_left_does_not_hurt() -> None:
    running = Running([ONE], [[None], [None]])
    await running.clock.settle()
    relisting = asyncio.create_task(running.informer.relist())
    await asyncio.sleep(0)

    relisting.cancel()
    await running.clock.settle()

    assert running.api.log == ["list", "watch 10", "list", "watch 99"]
    await running.stop()


async def test_a_long_list_gives_the_loop_its_turns() -> None:
    many = ListResult([pod(f"p-{number}", uid=str(number)) for number in range(1200)], "10")
    running = Running([many], [[None]])
    seen: list[int] = []

    while not running.informer.has_synced:
        await asyncio.sleep(0)
        seen.append(len(running.informer.store))

    assert 500 in seen
    assert 1000 in seen
    await running.stop()
