"""Many creations at once, without many failures."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.podset.slow_start import may_start, run_slow_start


class RefusedError(Exception):
    pass


class Server:
    """Answers each attempt after some turns of the loop, and keeps count."""

    def __init__(self, *, capacity: int, delays: list[int] | None = None) -> None:
        self.capacity = capacity
        self.delays = delays or [0]
        self.started = self.finished = self.succeeded = self.most_in_flight = 0
        self.worst_excess = 0

    async def attempt(self, item: int) -> None:
        self.started += 1
        self.most_in_flight = max(self.most_in_flight, self.started - self.finished)
        self.worst_excess = max(self.worst_excess, self.started - 2 * self.succeeded - 1)
        for _ in range(self.delays[item % len(self.delays)]):
            await asyncio.sleep(0)
        self.finished += 1
        if self.succeeded >= self.capacity:
            raise RefusedError(item)
        self.succeeded += 1


async def test_everything_is_made_when_nothing_fails() -> None:
    server = Server(capacity=1000, delays=[3])

    attempts = await run_slow_start(
        range(500), server.attempt, max_in_flight=100, expected_errors=RefusedError
    )

    assert sorted(attempts.succeeded) == list(range(500))
    assert (attempts.failed, attempts.skipped) == ((), ())
    assert server.most_in_flight == 100


async def test_one_attempt_is_enough_to_learn_that_none_will_do() -> None:
    server = Server(capacity=0)

    attempts = await run_slow_start(
        range(500), server.attempt, max_in_flight=100, expected_errors=RefusedError
    )

    assert server.started == 1
    assert [item for item, _ in attempts.failed] == [0]
    assert attempts.skipped == tuple(range(1, 500))


async def test_an_unexpected_error_is_raised() -> None:
    async def broken(_item: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as caught:
        await run_slow_start([1], broken, max_in_flight=1, expected_errors=RefusedError)

    assert caught.group_contains(ZeroDivisionError)


@given(
    st.integers(0, 60),
    st.integers(0, 60),
    st.integers(1, 20),
    st.lists(st.integers(0, 5), min_size=1),
)
def test_never_more_attempts_than_twice_the_successes_and_one(
    count: int, capacity: int, max_in_flight: int, delays: list[int]
) -> None:
    server = Server(capacity=capacity, delays=delays)

    attempts = asyncio.run(
        run_slow_start(
            range(count), server.attempt, max_in_flight=max_in_flight, expected_errors=RefusedError
        )
    )

    everything = [*attempts.succeeded, *(item for item, _ in attempts.failed), *attempts.skipped]
    assert sorted(everything) == list(range(count))
    assert len(attempts.succeeded) == min(count, capacity)
    assert server.most_in_flight <= max_in_flight
    assert server.worst_excess <= 0


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**6))
def test_the_window_is_never_negative(successes: int, in_flight: int, max_in_flight: int) -> None:
    assert may_start(successes=successes, in_flight=in_flight, max_in_flight=max_in_flight) >= 0
