import asyncio
import functools
import logging
from contextlib import suppress

import pytest

from kube_runtime.errors import LevelsetError, Unreachable
from kube_runtime.stage import Stage, leaf_errors, name_of


async def forever() -> None:
    await asyncio.Event().wait()


async def stubborn() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()


async def until_done(stage: Stage) -> None:
    await asyncio.wait(stage.tasks, timeout=1)


async def test_all_services_run_until_the_stop() -> None:
    stopped: list[int] = []

    async def service(number: int) -> None:
        try:
            await forever()
        finally:
            stopped.append(number)

    stage = Stage("always", [functools.partial(service, number) for number in range(3)])
    stage.start()
    await asyncio.sleep(0)

    assert not stage.report_ended()
    assert await stage.stop(1)
    assert sorted(stopped) == [0, 1, 2]


async def test_a_service_that_does_not_stop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage("always", [stubborn])
    stage.start()
    await asyncio.sleep(0)

    assert not await stage.stop(0.01)

    [record] = caplog.records
    assert record.getMessage() == "service does not stop"
    assert record.levelset_fields["service"] == "stubborn"  # type: ignore[attr-defined]  # set by logs.fields
    for task in stage.tasks:
        task.get_coro().close()


async def test_an_error_we_know_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    async def service() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(fail())

    async def fail() -> None:
        raise Unreachable("https://127.0.0.1: connection refused")

    stage = Stage("always", [service])
    stage.start()
    await until_done(stage)

    assert stage.report_ended()
    [record] = caplog.records
    assert record.exc_info is None
    assert "connection refused" in record.levelset_fields["error"]  # type: ignore[attr-defined]  # set by logs.fields


async def test_a_bug_keeps_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    async def service() -> None:
        raise KeyError("spec")

    stage = Stage("always", [service])
    stage.start()
    await until_done(stage)

    assert stage.report_ended()
    assert caplog.records[0].exc_info is not None


async def test_the_trace_of_an_error_we_know_is_there_for_those_who_ask(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def service() -> None:
        raise LevelsetError("no")

    caplog.set_level(logging.DEBUG)
    stage = Stage("always", [service])
    stage.start()
    await until_done(stage)

    assert stage.report_ended()
    assert caplog.records[0].exc_info is not None


async def test_a_service_that_returns_has_ended_too(caplog: pytest.LogCaptureFixture) -> None:
    async def service() -> None:
        return

    stage = Stage("always", [service])
    stage.start()
    await until_done(stage)

    assert stage.report_ended()
    assert "expected to run until stopped" in caplog.records[0].levelset_fields["error"]  # type: ignore[attr-defined]  # set by logs.fields


async def test_an_empty_stage_stops_at_once() -> None:
    assert await Stage("leading", []).stop(0)


def test_a_service_is_named_by_its_function_and_owner() -> None:
    class Informer:
        name = "pods"

        async def run(self) -> None: ...

    assert name_of(forever) == "forever"
    assert name_of(Informer().run).endswith("Informer.run(pods)")
    assert name_of(functools.partial(forever)) == "forever"


def test_the_leaves_of_nested_groups_are_found() -> None:
    one, two = ValueError(), KeyError()

    assert leaf_errors(ExceptionGroup("a", [one, ExceptionGroup("b", [two])])) == [one, two]
