"""The token bucket, on a clock that tests move."""

import asyncio

from kube_runtime.clock import FakeClock
from kube_runtime.ratelimit import TokenBucket


async def passed(bucket: TokenBucket, clock: FakeClock, count: int) -> list[float]:
    """Let so many through and tell when each passed."""
    times: list[float] = []

    async def one() -> None:
        await bucket.take()
        times.append(clock.monotonic())

    tasks = [asyncio.create_task(one()) for _ in range(count)]
    await clock.advance(60)
    await asyncio.gather(*tasks)
    return times


async def test_a_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    clock = FakeClock()
    bucket = TokenBucket(10, 3, clock=clock)

    times = await passed(bucket, clock, 6)

    assert [round(time, 6) for time in times] == [0, 0, 0, 0.1, 0.2, 0.3]


async def test_a_bucket_fills_up_to_its_burst_and_no_more() -> None:
    clock = FakeClock()
    bucket = TokenBucket(10, 2, clock=clock)
    await passed(bucket, clock, 2)

    times = await passed(bucket, clock, 4)

    assert [round(time - 60, 6) for time in times] == [0, 0, 0.1, 0.2]


async def test_a_rate_of_zero_is_no_limit() -> None:
    bucket = TokenBucket(0, 0, clock=FakeClock())

    for _ in range(1000):
        await bucket.take()


async def test_a_cancelled_wait_gives_its_token_back() -> None:
    clock = FakeClock()
    bucket = TokenBucket(1, 1, clock=clock)
    await bucket.take()
    waiting = asyncio.create_task(bucket.take())
    await clock.settle()

    waiting.cancel()
    await asyncio.wait([waiting])

    assert [round(time, 6) for time in await passed(bucket, clock, 1)] == [1.0]
