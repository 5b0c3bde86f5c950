"""Leader election on one fake Lease that can be cut off, slow or edited, by a fake clock.

The same elector runs against a real API server in the contract tests.
"""

# ruff: noqa: ARG002 - the fake keeps the parameters of the client

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import cast

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.clock import FakeClock
from kube_runtime.errors import AlreadyExists, Conflict, LostLeadership, NotFound, Unreachable
from kube_runtime.instrumentation import Instrumentation
from kube_runtime.lease import LeaderElector
from kube_runtime.resource import Json, Resource


@dataclass
class Server:
    """One Lease, as the API server keeps it."""

    lease: Json | None = None
    version: int = 0
    writes: list[Json] = field(default_factory=list)

    def store(self, lease: Json) -> Json:
        self.version += 1
        self.lease = copy.deepcopy(lease)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        self.writes.append(copy.deepcopy(self.lease["spec"]))
        return copy.deepcopy(self.lease)

    @property
    def spec(self) -> Json:
        assert self.lease is not None
        spec: Json = self.lease["spec"]
        return spec


@dataclass
class Connection:
    """One process's way to the server."""

    server: Server
    clock: FakeClock
    is_cut: bool = False
    hangs: bool = False

    def without_fence(self) -> "Connection":
        return self

    async def get(self, resource: Resource, name: str, *, namespace: str) -> Json:
        await self._pass()
        if self.server.lease is None:
            raise NotFound(404, "NotFound", "no lease")
        return copy.deepcopy(self.server.lease)

    async def create(self, resource: Resource, body: Json) -> Json:
        await self._pass()
        if self.server.lease is not None:
            raise AlreadyExists(409, "AlreadyExists", "there is one")
        return self.server.store(body)

    async def replace(self, resource: Resource, body: Json) -> Json:
        await self._pass()
        if self.server.lease is None:
            raise NotFound(404, "NotFound", "no lease")
        if body["metadata"]["resourceVersion"] != str(self.server.version):
            raise Conflict(409, "Conflict", "changed")
        return self.server.store(body)

    async def _pass(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        if self.is_cut:
            raise Unreachable("connection refused")


class Leaders(Instrumentation):
    def __init__(self) -> None:
        self.changes: list[bool] = []

    def leader(self, name: str, *, is_leading: bool) -> None:
        self.changes.append(is_leading)


class Candidate:
    def __init__(self, server: Server, clock: FakeClock, identity: str) -> None:
        self.clock = clock
        self.connection = Connection(server, clock)
        self.leaders = Leaders()
        self.elector = LeaderElector(
            cast("ApiClient", self.connection),
            name="test",
            namespace="ns",
            identity=identity,
            clock=clock,
            instrumentation=self.leaders,
        )
        self.is_working = False
        self.stints = 0

    async def work(self) -> None:
        self.is_working = True
        self.stints += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.is_working = False

    @property
    def may_write(self) -> bool:
        try:
            self.elector.fence.check()
        except LostLeadership:
            return False
        return True

    @asynccontextmanager
    async def running(self) -> AsyncIterator[asyncio.Task[None]]:
        task = asyncio.create_task(self.elector.run(self.work))
        await self.clock.settle()
        try:
            yield task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def one(server: Server, clock: FakeClock) -> Candidate:
    return Candidate(server, clock, "one")


@pytest.fixture
def two(server: Server, clock: FakeClock) -> Candidate:
    return Candidate(server, clock, "two")


async def test_the_first_one_leads_and_the_lease_says_so(one: Candidate, server: Server) -> None:
    async with one.running():
        assert one.is_working
        assert one.may_write
        assert one.leaders.changes == [False, True]
        assert server.spec == {
            "holderIdentity": "one",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-01-01T00:00:00.000000Z",
            "renewTime": "2026-01-01T00:00:00.000000Z",
            "leaseTransitions": 0,
        }


async def test_a_leader_renews_and_keeps_its_acquire_time(
    one: Candidate, clock: FakeClock, server: Server
) -> None:
    async with one.running():
        await clock.advance(60)

        assert one.is_working
        assert server.spec["acquireTime"] == "2026-01-01T00:00:00.000000Z"
        assert server.spec["renewTime"] == "2026-01-01T00:01:00.000000Z"
        assert server.spec["leaseTransitions"] == 0
        assert one.stints == 1


async def test_the_second_one_waits_while_the_first_one_lives(
    one: Candidate, two: Candidate, clock: FakeClock
) -> None:
    async with one.running(), two.running():
        await clock.advance(120)

        assert one.is_working
        assert not two.is_working
        assert not two.may_write


async def test_a_clean_exit_lets_the_next_one_in_at_once(
    one: Candidate, two: Candidate, clock: FakeClock, server: Server
) -> None:
    async with one.running() as leading, two.running():
        leading.cancel()

        await clock.advance(2.5)

        assert not one.is_working
        assert two.is_working
        assert server.spec["holderIdentity"] == "two"
        assert server.spec["leaseTransitions"] == 1


async def test_the_lease_is_released_only_after_the_work_has_ended(
    one: Candidate, server: Server
) -> None:
    holders: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            holders.append(server.spec["holderIdentity"])

    task = asyncio.create_task(one.elector.run(work))
    await one.clock.settle()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task

    assert holders == ["one"]
    assert server.spec["holderIdentity"] == ""
    assert not one.may_write


async def test_a_leader_that_is_cut_off_stops_before_anybody_else_starts(
    one: Candidate, two: Candidate, clock: FakeClock
) -> None:
    async with one.running(), two.running():
        await clock.advance(5)
        one.connection.is_cut = True
        writers: list[tuple[bool, bool]] = []

        for _ in range(400):
            await clock.advance(0.1)
            writers.append((one.may_write, two.may_write))
            assert not (one.is_working and two.is_working)

        assert (True, True) not in writers
        assert (False, False) in writers
        assert writers[-1] == (False, True)
        assert two.is_working


async def test_a_leader_loses_at_once_when_its_deadline_passes(
    one: Candidate, clock: FakeClock
) -> None:
    async with one.running():
        one.connection.is_cut = True

        await clock.advance(9.9)
        before = one.is_working
        await clock.advance(0.2)

        assert before
        assert not one.is_working
        assert one.leaders.changes == [False, True, False]


async def test_a_hanging_connection_is_no_renewal(one: Candidate, clock: FakeClock) -> None:
    async with one.running():
        one.connection.hangs = True

        await clock.advance(10.1)

        assert not one.is_working


async def test_one_lost_renewal_is_made_good(one: Candidate, clock: FakeClock) -> None:
    async with one.running():
        one.connection.is_cut = True
        await clock.advance(7)
        one.connection.is_cut = False
        await clock.advance(60)

        assert one.stints == 1
        assert one.is_working


async def test_a_frozen_leader_may_not_write_when_it_wakes_up(
    one: Candidate, two: Candidate, clock: FakeClock
) -> None:
    async with one.running(), two.running():
        clock.shift(3600)  # time passes and none of our tasks runs

        assert not one.may_write


async def test_a_leader_cut_off_for_a_while_leads_again(one: Candidate, clock: FakeClock) -> None:
    async with one.running():
        one.connection.is_cut = True
        await clock.advance(30)
        was_working = one.is_working
        one.connection.is_cut = False
        await clock.advance(10)

        assert not was_working
        assert one.is_working
        assert one.stints == 2


async def test_a_holder_whose_clock_is_years_off_is_judged_by_its_silence(
    one: Candidate, clock: FakeClock, server: Server
) -> None:
    spec = {
        "holderIdentity": "skewed",
        "leaseDurationSeconds": 15,
        "renewTime": "2019-01-01T00:00:00.000000Z",
        "leaseTransitions": 4,
    }
    server.store({"metadata": {"namespace": "ns", "name": "test"}, "spec": spec})

    async with one.running():
        for second in range(60):
            await clock.advance(1)
            server.spec["renewTime"] = f"2019-01-01T00:00:{second:02}.000000Z"
            assert not one.is_working
        await clock.advance(14)
        still_waiting = not one.is_working
        await clock.advance(7)  # two waits between looks, each up to 2.4 s

        assert still_waiting
        assert one.is_working
        assert server.spec["leaseTransitions"] == 5


async def test_a_lease_taken_by_force_is_given_up_at_the_next_renewal(
    one: Candidate, clock: FakeClock, server: Server
) -> None:
    async with one.running():
        assert server.lease is not None
        taken = copy.deepcopy(server.lease)
        taken["spec"]["holderIdentity"] = "force"
        server.store(taken)

        await clock.advance(2.1)

        assert not one.is_working
        assert not one.may_write
        assert server.spec["holderIdentity"] == "force"


async def test_a_note_on_the_lease_by_somebody_else_is_no_loss(
    one: Candidate, clock: FakeClock, server: Server
) -> None:
    async with one.running():
        assert server.lease is not None
        server.lease["metadata"]["annotations"] = {"note": "hello"}
        server.store(server.lease)

        await clock.advance(60)

        assert one.stints == 1
        assert server.lease["metadata"]["annotations"] == {"note": "hello"}


async def test_a_deleted_lease_is_made_anew_by_its_leader(
    one: Candidate, clock: FakeClock, server: Server
) -> None:
    async with one.running():
        server.lease = None

        await clock.advance(5)

        assert one.is_working
        assert server.spec["holderIdentity"] == "one"


async def test_work_that_ends_by_itself_ends_the_leading(one: Candidate, server: Server) -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    await asyncio.wait_for(one.elector.run(work), 1)

    assert server.spec["holderIdentity"] == ""
    assert one.leaders.changes == [False, True, False]


async def test_work_that_fails_ends_the_leading_with_its_error(
    one: Candidate, server: Server
) -> None:
    async def work() -> None:
        raise ValueError("broken")

    with pytest.raises(ExceptionGroup) as caught:
        await asyncio.wait_for(one.elector.run(work), 1)

    assert caught.group_contains(ValueError, match="broken")
    assert server.spec["holderIdentity"] == ""


async def test_a_release_that_fails_is_no_error_of_the_stop(
    one: Candidate, clock: FakeClock
) -> None:
    task = asyncio.create_task(one.elector.run(one.work))
    await clock.settle()
    one.connection.hangs = True

    task.cancel()
    await clock.advance(4)

    assert task.cancelled()
    assert not one.may_write


async def test_a_renewal_whose_answer_was_not_heard_does_not_keep_the_lease(
    one: Candidate, clock: FakeClock, server: Server
) -> None:
    async with one.running() as leading:
        assert server.lease is not None
        server.store(server.lease)  # it was cancelled on its way back

        leading.cancel()
        await clock.settle()

    assert server.spec["holderIdentity"] == ""


async def test_a_release_leaves_a_lease_that_somebody_else_has_taken(
    one: Candidate, clock: FakeClock, server: Server
) -> None:
    async with one.running() as leading:
        assert server.lease is not None
        taken = copy.deepcopy(server.lease)
        taken["spec"]["holderIdentity"] = "two"
        server.store(taken)

        leading.cancel()
        await clock.settle()

    assert server.spec["holderIdentity"] == "two"


async def test_an_outage_is_logged_once(
    one: Candidate, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    one.connection.is_cut = True

    async with one.running():
        await clock.advance(600)

    messages = [record.getMessage() for record in caplog.records]
    assert messages.count("lease attempt failed") == 1


def test_times_that_allow_two_leaders_are_refused(server: Server, clock: FakeClock) -> None:
    with pytest.raises(ValueError, match="retry < renew < lease"):
        LeaderElector(
            cast("ApiClient", Connection(server, clock)),
            name="test",
            namespace="ns",
            identity="one",
            lease_seconds=10,
            renew_seconds=10,
        )
