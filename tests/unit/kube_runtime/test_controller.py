# ruff: noqa: ARG002 - the methods of a recording keep the parameters of the protocol

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import pairwise

import pytest

from kube_runtime.clock import FakeClock
from kube_runtime.controller import Controller, Result
from kube_runtime.errors import LevelsetError
from kube_runtime.instrumentation import Instrumentation, ReconcileResult
from kube_runtime.resource import Key

A, B = Key("ns", "a"), Key("ns", "b")
Reconcile = Callable[[Key], Awaitable[Result]]


class Recorded(Instrumentation):
    def __init__(self) -> None:
        self.results: list[ReconcileResult] = []
        self.seconds: list[float] = []
        self.panics = 0
        self.timeouts = 0
        self.active: list[int] = []
        self.workers = 0
        self.unfinished: list[tuple[float, float]] = []

    def controller_started(self, controller: str, workers: int) -> None:
        self.workers = workers

    def reconcile_finished(self, controller: str, result: ReconcileResult, seconds: float) -> None:
        self.results.append(result)
        self.seconds.append(seconds)

    def reconcile_panicked(self, controller: str) -> None:
        self.panics += 1

    def reconcile_timed_out(self, controller: str) -> None:
        self.timeouts += 1

    def active_workers(self, controller: str, count: int) -> None:
        self.active.append(count)

    def queue_unfinished(self, name: str, total_seconds: float, longest_seconds: float) -> None:
        self.unfinished.append((total_seconds, longest_seconds))


class Scripted:
    """A reconciler that does what the test says, and remembers when it was called."""

    def __init__(self, clock: FakeClock, reconcile: Reconcile) -> None:
        self._clock = clock
        self._reconcile = reconcile
        self.calls: list[tuple[Key, float]] = []

    async def reconcile(self, key: Key) -> Result:
        self.calls.append((key, self._clock.monotonic()))
        return await self._reconcile(key)

    @property
    def keys(self) -> list[Key]:
        return [key for key, _ in self.calls]

    @property
    def moments(self) -> list[float]:
        return [moment for _, moment in self.calls]


class Setup:
    def __init__(
        self, reconcile: Reconcile, *, workers: int = 2, keys: tuple[Key, ...] = ()
    ) -> None:
        self.clock = FakeClock()
        self.recorded = Recorded()
        self.reconciler = Scripted(self.clock, reconcile)
        self.controller = Controller(
            "test",
            self.reconciler,
            workers=workers,
            reconcile_timeout_seconds=30,
            resync_seconds=600,
            resync_keys=lambda: keys,
            instrumentation=self.recorded,
            clock=self.clock,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.controller.run())
        await self.clock.settle()
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def succeed(key: Key) -> Result:
    return Result.DONE


def failing_with(*errors: Exception) -> Reconcile:
    left = list(errors)

    async def reconcile(key: Key) -> Result:
        if left:
            raise left.pop(0)
        return Result.DONE

    return reconcile


def later(seconds: float | None) -> LevelsetError:
    error = LevelsetError("the world is not ready")
    error.retry_after = seconds
    return error


async def test_a_key_that_succeeds_is_not_looked_at_again() -> None:
    setup = Setup(succeed)

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.advance(100)

    assert setup.reconciler.keys == [A]
    assert setup.recorded.results == ["success"]


async def test_a_wish_to_come_back_later_is_met_in_time() -> None:
    async def reconcile(key: Key) -> Result:
        return Result(requeue_after=60) if len(setup.reconciler.calls) == 1 else Result.DONE

    setup = Setup(reconcile)

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.advance(100)

    assert setup.reconciler.moments == [0, 60]
    assert setup.recorded.results == ["requeue_after", "success"]


async def test_a_wish_to_come_back_without_a_time_backs_off() -> None:
    async def reconcile(key: Key) -> Result:
        return Result(requeue=True) if len(setup.reconciler.calls) < 4 else Result.DONE

    setup = Setup(reconcile)

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.advance(1)

    assert setup.reconciler.moments == pytest.approx([0, 0.005, 0.015, 0.035])
    assert setup.recorded.results == ["requeue", "requeue", "requeue", "success"]
    assert setup.controller.queue.failures(A) == 0


async def test_errors_come_back_for_ever_with_a_growing_delay() -> None:
    setup = Setup(failing_with(*[later(None)] * 40))

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.advance(4000)

    assert len(setup.reconciler.calls) == 41
    waits = [after - before for before, after in pairwise(setup.reconciler.moments)]
    assert max(waits) == pytest.approx(120)


async def test_an_error_that_names_its_time_is_taken_up_then() -> None:
    setup = Setup(failing_with(later(7)))

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.advance(10)

    assert setup.reconciler.moments == [0, 7]
    assert setup.recorded.results == ["error", "success"]


async def test_an_error_in_a_task_group_is_no_panic() -> None:
    group = ExceptionGroup("tasks", [later(3), ExceptionGroup("inner", [later(9)])])
    setup = Setup(failing_with(group))

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.advance(10)

    assert setup.reconciler.moments == [0, 9]
    assert setup.recorded.panics == 0


async def test_a_bug_is_a_panic_with_its_trace_and_stops_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    setup = Setup(failing_with(ExceptionGroup("tasks", [later(3), KeyError("spec")])))

    async with setup.running():
        setup.controller.queue.add(A)
        setup.controller.queue.add(B)
        await setup.clock.advance(1)

    assert setup.recorded.panics == 1
    assert sorted(setup.recorded.results) == ["error", "success", "success"]
    [record] = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage() == "reconcile panicked"
    assert record.exc_info is not None
    assert record.levelset_fields["object"] == A  # type: ignore[attr-defined]  # set by logs.fields


async def test_awaiting_what_others_cancelled_does_not_kill_the_worker() -> None:
    async def reconcile(key: Key) -> Result:
        if key == A and len(setup.reconciler.calls) == 1:
            shared = asyncio.get_running_loop().create_future()
            shared.cancel()
            await shared
        return Result.DONE

    setup = Setup(reconcile, workers=1)

    async with setup.running():
        setup.controller.queue.add(A)
        setup.controller.queue.add(B)
        await setup.clock.advance(1)

    assert setup.recorded.panics == 1
    assert setup.reconciler.keys == [A, B, A]


async def test_a_reconcile_that_hangs_is_cut_off_and_comes_back() -> None:
    async def reconcile(key: Key) -> Result:
        if len(setup.reconciler.calls) == 1:
            await asyncio.Event().wait()
        return Result.DONE

    setup = Setup(reconcile)

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.advance(31)

    assert setup.recorded.timeouts == 1
    assert setup.recorded.panics == 0
    assert setup.recorded.results == ["error", "success"]
    assert setup.recorded.seconds[0] == 30


async def test_a_foreign_timeout_is_not_taken_for_ours() -> None:
    setup = Setup(failing_with(TimeoutError("of something inside")))

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.advance(1)

    assert (setup.recorded.timeouts, setup.recorded.panics) == (0, 1)


async def test_everything_is_looked_at_at_the_start_and_at_each_resync() -> None:
    setup = Setup(succeed, keys=(A, B))

    async with setup.running():
        await setup.clock.advance(1250)

    assert setup.reconciler.moments == [0, 0, 600, 600, 1200, 1200]


async def test_a_resync_that_fails_is_tried_again_next_time() -> None:
    setup = Setup(succeed)
    answers = [[A], None, [B]]

    def keys() -> list[Key]:
        answer = answers.pop(0)
        if answer is None:
            raise RuntimeError("the store is not there yet")
        return answer

    setup.controller._resync_keys = keys

    async with setup.running():
        await setup.clock.advance(1250)

    assert setup.reconciler.keys == [A, B]


async def test_no_more_than_the_workers_run_at_once_and_never_two_on_one_key() -> None:
    running: list[Key] = []
    most = 0

    async def reconcile(key: Key) -> Result:
        nonlocal most
        assert key not in running
        running.append(key)
        most = max(most, len(running))
        setup.controller.queue.add(A)
        await setup.clock.sleep(1)
        running.remove(key)
        return Result.DONE

    keys = tuple(Key("ns", str(number)) for number in range(10))
    setup = Setup(reconcile, workers=3, keys=keys)

    async with setup.running():
        await setup.clock.advance(20)

    assert most == 3
    assert max(setup.recorded.active) == 3
    assert setup.recorded.workers == 3
    assert set(keys) <= set(setup.reconciler.keys)


async def test_a_reconcile_cut_off_by_the_stop_is_taken_up_by_the_next_run() -> None:
    async def reconcile(key: Key) -> Result:
        if len(setup.reconciler.calls) == 1:
            await asyncio.Event().wait()
        return Result.DONE

    setup = Setup(reconcile)

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.settle()
    async with setup.running():
        await setup.clock.settle()

    assert setup.reconciler.keys == [A, A]
    assert setup.recorded.results == ["success"]
    assert setup.recorded.active[-1] == 0


async def test_a_queue_that_was_shut_down_ends_the_controller() -> None:
    setup = Setup(succeed)
    task = asyncio.create_task(setup.controller.run())
    await setup.clock.settle()

    setup.controller.queue.shut_down()

    await asyncio.wait_for(task, 1)


async def test_unfinished_work_is_told_every_few_seconds() -> None:
    async def reconcile(key: Key) -> Result:
        await setup.clock.sleep(12)
        return Result.DONE

    setup = Setup(reconcile)

    async with setup.running():
        setup.controller.queue.add(A)
        await setup.clock.advance(11)

    assert setup.recorded.unfinished[-1] == (10.0, 10.0)
