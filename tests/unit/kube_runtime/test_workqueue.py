# ruff: noqa: ARG002 - the methods of a recording keep the parameters of the protocol

import asyncio

import pytest

from kube_runtime.clock import FakeClock
from kube_runtime.instrumentation import Instrumentation
from kube_runtime.workqueue import QueueShutDown, WorkQueue


class Recorded(Instrumentation):
    def __init__(self) -> None:
        self.added = 0
        self.depths: list[int] = []
        self.latencies: list[float] = []
        self.durations: list[float] = []
        self.retries = 0

    def queue_added(self, name: str) -> None:
        self.added += 1

    def queue_depth(self, name: str, depth: int) -> None:
        self.depths.append(depth)

    def queue_latency(self, name: str, seconds: float) -> None:
        self.latencies.append(seconds)

    def work_duration(self, name: str, seconds: float) -> None:
        self.durations.append(seconds)

    def queue_retry(self, name: str) -> None:
        self.retries += 1


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def recorded() -> Recorded:
    return Recorded()


@pytest.fixture
def queue(clock: FakeClock, recorded: Recorded) -> WorkQueue[str]:
    return WorkQueue("test", clock=clock, instrumentation=recorded)


async def test_keys_come_out_in_the_order_in_which_they_went_in(queue: WorkQueue[str]) -> None:
    for key in "cab":
        queue.add(key)

    assert [await queue.get() for _ in range(3)] == ["c", "a", "b"]


async def test_a_waiting_key_is_kept_once(queue: WorkQueue[str], recorded: Recorded) -> None:
    queue.add("a")
    queue.add("a")

    assert (queue.depth, recorded.added) == (1, 1)


async def test_a_key_added_while_it_is_worked_on_comes_back_only_after_done(
    queue: WorkQueue[str],
) -> None:
    queue.add("a")
    await queue.get()

    queue.add("a")
    depth_during_work = queue.depth
    queue.done("a")

    assert depth_during_work == 0
    assert await queue.get() == "a"


async def test_a_waiting_worker_gets_a_key_as_soon_as_it_is_added(queue: WorkQueue[str]) -> None:
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(0)

    queue.add("a")

    assert await worker == "a"


async def test_a_worker_cancelled_as_it_is_woken_passes_the_key_on(queue: WorkQueue[str]) -> None:
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)

    queue.add("a")
    first.cancel()

    assert await asyncio.wait_for(second, 1) == "a"


async def test_a_cancelled_worker_leaves_no_trace(queue: WorkQueue[str]) -> None:
    first, second = asyncio.create_task(queue.get()), asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)

    queue.add("a")

    assert await asyncio.wait_for(second, 1) == "a"


async def test_a_delayed_key_comes_when_its_time_has_come(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    queue.add_after("a", 5)

    await clock.advance(4.9)
    depth_before = queue.depth
    await clock.advance(0.1)

    assert (depth_before, queue.depth, queue.delayed) == (0, 1, 0)


async def test_of_several_delays_for_a_key_the_earliest_counts(
    queue: WorkQueue[str], clock: FakeClock
) -> None:
    for seconds in (9, 3, 6):
        queue.add_after("a", seconds)

    await clock.advance(3)
    assert await queue.get() == "a"
    queue.done("a")
    await clock.advance(20)

    assert (queue.depth, queue.delayed) == (0, 0)


async def test_a_delay_of_nothing_is_an_add(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 0)

    assert queue.depth == 1


async def test_the_back_off_doubles_up_to_its_cap_and_starts_anew_after_forget(
    clock: FakeClock,
) -> None:
    queue = WorkQueue[str]("test", clock=clock, base_delay_seconds=1, max_delay_seconds=5)
    waits = []

    async def wait_for_key() -> float:
        started = clock.monotonic()
        queue.add_rate_limited("a")
        worker = asyncio.create_task(queue.get())
        while not worker.done():
            await clock.advance(0.5)
        queue.done("a")
        return clock.monotonic() - started

    waits = [await wait_for_key() for _ in range(5)]
    queue.forget("a")
    waits.append(await wait_for_key())

    assert waits == [1, 2, 4, 5, 5, 1]


async def test_the_default_back_off_is_that_of_client_go(clock: FakeClock) -> None:
    queue = WorkQueue[str]("test", clock=clock)

    queue.add_rate_limited("a")
    await clock.advance(0.005)

    assert queue.depth == 1


async def test_a_thousand_failures_do_not_overflow(queue: WorkQueue[str]) -> None:
    for _ in range(1000):
        queue.add_rate_limited("a")

    assert (queue.delayed, queue.failures("a")) == (1, 1000)


async def test_wishes_for_the_same_key_do_not_pile_up_in_memory(queue: WorkQueue[str]) -> None:
    for seconds in range(10_000, 0, -1):
        queue.add_after("a", seconds)

    assert len(queue._delayed._heap) < 20


async def test_nobody_gets_a_key_after_the_shut_down(queue: WorkQueue[str]) -> None:
    worker = asyncio.create_task(queue.get())
    await asyncio.sleep(0)

    queue.shut_down()
    queue.add("a")

    with pytest.raises(QueueShutDown):
        await worker
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_waiting_and_working_are_measured(
    queue: WorkQueue[str], clock: FakeClock, recorded: Recorded
) -> None:
    queue.add("a")
    await clock.advance(2)
    await queue.get()
    await clock.advance(3)
    unfinished = queue.unfinished()
    queue.done("a")

    assert (recorded.latencies, recorded.durations) == ([2.0], [3.0])
    assert (unfinished, queue.unfinished()) == ((3.0, 3.0), (0.0, 0.0))
    assert recorded.depths == [1, 0]


async def test_done_for_a_key_that_nobody_holds_does_nothing(queue: WorkQueue[str]) -> None:
    queue.done("a")

    assert queue.depth == 0
