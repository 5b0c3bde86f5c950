import asyncio
import time

import pytest

from kube_runtime.clock import FakeClock, SystemClock, deadline


async def test_a_sleeper_wakes_when_the_clock_has_moved_far_enough() -> None:
    clock = FakeClock()
    sleeper = asyncio.create_task(clock.sleep(10))

    await clock.advance(9.9)
    assert not sleeper.done()
    await clock.advance(0.2)

    assert sleeper.done()


async def test_sleepers_wake_in_the_order_of_their_time() -> None:
    clock = FakeClock()
    woken: list[tuple[int, float]] = []

    async def sleep(seconds: int) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic()))

    tasks = [asyncio.create_task(sleep(seconds)) for seconds in (3, 1, 2)]
    await clock.advance(5)
    await asyncio.gather(*tasks)

    assert woken == [(1, 1.0), (2, 2.0), (3, 3.0)]


async def test_a_task_that_sleeps_again_on_waking_is_woken_within_one_advance() -> None:
    clock = FakeClock()
    moments: list[float] = []

    async def tick() -> None:
        while True:
            await clock.sleep(1)
            moments.append(clock.monotonic())

    task = asyncio.create_task(tick())
    await clock.advance(3)
    task.cancel()

    assert moments == [1.0, 2.0, 3.0]


async def test_a_deadline_raises_by_the_clock_and_says_that_it_was_the_one() -> None:
    clock = FakeClock()
    limits = []

    async def wait() -> None:
        async with deadline(clock, 5) as limit:
            limits.append(limit)
            await asyncio.Event().wait()

    task = asyncio.create_task(wait())
    await clock.advance(5)

    with pytest.raises(TimeoutError):
        await task
    assert limits[0].expired


async def test_a_deadline_leaves_a_quick_block_and_foreign_timeouts_alone() -> None:
    clock = FakeClock()

    with pytest.raises(TimeoutError):
        async with deadline(clock, 5) as limit:
            raise TimeoutError
    await clock.advance(10)

    assert not limit.expired


async def test_a_cancelled_timer_is_not_called() -> None:
    clock = FakeClock()
    called: list[int] = []
    clock.call_later(1, lambda: called.append(1)).cancel()

    await clock.advance(2)

    assert called == []


def test_the_clock_moves_the_date_and_the_monotonic_time_alike() -> None:
    clock = FakeClock()
    start = clock.now()

    clock.shift(90)

    assert (clock.now() - start).total_seconds() == clock.monotonic() == 90


def test_the_system_clock_counts_the_time_that_the_machine_slept() -> None:
    awake = time.monotonic()

    assert SystemClock().monotonic() >= awake
