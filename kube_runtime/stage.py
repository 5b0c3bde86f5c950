"""A group of long-running tasks that are started and stopped together.

The process shell has one for the services that always run and one for what only a leader runs;
they are stopped one after the other, each with a deadline. A TaskGroup would cancel everything at
once when one task fails, and the order of the stop is the point here.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from kube_runtime import logs
from kube_runtime.errors import LevelsetError

_log: Final = logging.getLogger(__name__)

Service = Callable[[], Awaitable[None]]


class Stage:
    """Owns its tasks from start() to stop()."""

    def __init__(self, name: str, services: Iterable[Service]) -> None:
        self._name = name
        self._services = tuple(services)
        self._tasks: dict[asyncio.Task[None], str] = {}

    @property
    def tasks(self) -> set[asyncio.Task[None]]:
        """The tasks that were started."""
        return set(self._tasks)

    def start(self) -> None:
        """Start every service."""
        for service in self._services:
            name = name_of(service)
            self._tasks[asyncio.create_task(_run(service), name=name)] = name

    def report_ended(self) -> bool:
        """Log each service that has ended by itself, in one line; True when there is one."""
        ended = [task for task in self._tasks if task.done()]
        for task in ended:
            _log.error(
                "service ended",
                extra=logs.fields(stage=self._name, service=self._tasks[task], error=_why(task)),
                exc_info=_trace(task),
            )
        return bool(ended)

    async def stop(self, seconds: float) -> bool:
        """Cancel the tasks and wait so long for them; False when some do not end."""
        for task in self._tasks:
            task.cancel()
        if not self._tasks:
            return True
        done, stuck = await asyncio.wait(self._tasks, timeout=seconds)
        for task in done:
            if not task.cancelled():
                task.exception()  # retrieved: it was reported, or came up while stopping
        for task in stuck:
            _log.error(
                "service does not stop",
                extra=logs.fields(stage=self._name, service=self._tasks[task], seconds=seconds),
            )
        return not stuck


def name_of(service: Service) -> str:
    """Name a service by its function, and by the class and name of the object it belongs to."""
    function = getattr(service, "func", service)
    owner = getattr(function, "__self__", None)
    name: str = getattr(function, "__qualname__", type(function).__name__)
    own_name = getattr(owner, "name", None)
    return f"{name}({own_name})" if isinstance(own_name, str) else name


def leaf_errors(error: BaseException) -> list[BaseException]:
    """Unpack what TaskGroups have packed."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for part in error.exceptions for leaf in leaf_errors(part)]


async def _run(service: Service) -> None:
    await service()


def _why(task: asyncio.Task[None]) -> str:
    error = _error(task)
    if error is None:
        return "it returned, and was expected to run until stopped"
    return "; ".join(
        leaf.diagnostics() if isinstance(leaf, LevelsetError) else f"{type(leaf).__name__}: {leaf}"
        for leaf in leaf_errors(error)
    )


def _trace(task: asyncio.Task[None]) -> BaseException | None:
    """The trace belongs to bugs, and to those who asked for it."""
    error = _error(task)
    if error is None or _log.isEnabledFor(logging.DEBUG):
        return error
    is_expected = all(isinstance(leaf, LevelsetError | OSError) for leaf in leaf_errors(error))
    return None if is_expected else error


def _error(task: asyncio.Task[None]) -> BaseException | None:
    if task.cancelled():
        return asyncio.CancelledError("cancelled from outside")
    return task.exception()
