"""The shell of every controller process: Kopf beside our own tasks, in one loop, stopped in order.

A part's __main__ reads its settings, connects, builds its informers and controllers and calls
run_process. `always` services run from start to end; `leading` ones only while the lease is held.
Kopf brings wake-ups (on.event handlers) and the admission engine; it is not the truth, and here it
posts no events, adds no finalizers or annotations, and joins no peering.
The only module of this package that imports kopf.
"""

import asyncio
import functools
import gc
import logging
import signal
import socket
import sys
import threading
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import kopf

from kube_runtime import credentials, logs, required_crds
from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.errors import BadKubeconfig, LevelsetError
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.lease import LeaderElector
from kube_runtime.process_settings import ProcessSettings
from kube_runtime.resource import Resource
from kube_runtime.stage import Service, Stage

__all__ = ["ProcessSettings", "run_main", "run_process"]

R = TypeVar("R")

_log: Final = logging.getLogger(__name__)
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_LOGIN_RETRY_SECONDS: Final = 10.0
_WATCH_SECONDS: Final = 300  # an integer: the API server refuses 300.0
_CONNECT_SECONDS: Final = 10.0
_READY_POLL_SECONDS: Final = 0.1
# A store of long-lived dicts makes the usual collections look at every object again and again:
# measured, an event costs 32 us with Python's thresholds and 26 with these.
_GC_THRESHOLDS: Final = (20_000, 20, 50)
# How the time for the stop is shared out, in the order of the stop.
_LEADING_SHARE, _KOPF_SHARE, _ALWAYS_SHARE = 0.5, 0.25, 0.25


def run_main(settings: ProcessSettings, main: Callable[[], Awaitable[int]]) -> int:
    """Set the logs up and run a part's async main; an error we know is one line and code 1."""
    logs.configure(settings.log_format, settings.log_level)
    gc.set_threshold(*_GC_THRESHOLDS)
    try:
        return asyncio.run(_awaited(main))
    except LevelsetError as error:
        _log.log(logging.ERROR if settings.debug else logging.DEBUG, "trace", exc_info=error)
        print(f"{settings.name}: {error.diagnostics()}", file=sys.stderr)  # noqa: T201 - for a person
        return 1
    except KeyboardInterrupt:  # before the shell has taken the signals, or the second one
        return 128 + signal.SIGINT


async def run_process(
    settings: ProcessSettings,
    *,
    api: ApiClient,
    register: Callable[[kopf.OperatorRegistry], None],
    always: Sequence[Service],
    leading: Sequence[Service],
    ready: Callable[[], bool],
    required_kinds: Sequence[Resource] = (),
    namespaces: Sequence[str] = (),
    instrumentation: Instrumentation = NO_INSTRUMENTATION,
    clock: Clock = SYSTEM_CLOCK,
    stop: asyncio.Event | None = None,
) -> int:
    """Run until a signal, until `stop` is set or until something dies; return the exit code.

    Nothing leads before ready() is true: who does not see the cluster must not take the lease.
    Sets api.fence; a service that writes without leading takes api.without_fence().
    Raises MissingCrd or WrongCrdVersion when a required kind is not served.
    """
    await required_crds.check(api, required_kinds)

    async def lead() -> None:
        await _until(ready, clock)
        if elector is None:
            await _all(leading)
        else:
            await elector.run(lambda: _all(leading))

    elector = _elector(settings, api, instrumentation, clock) if settings.leader_elect else None
    if elector is not None:
        api.fence = elector.fence
    process = _Process(
        always=Stage("always", always),
        leading=Stage("leading", [lead] if leading else []),
        shell=_KopfShell(settings, register, ready, namespaces),
        stop=stop if stop is not None else asyncio.Event(),
    )
    return await process.run(settings.stop_seconds)


class _Process:
    """The stages of one process, and the order of their end."""

    def __init__(
        self, *, always: Stage, leading: Stage, shell: "_KopfShell", stop: asyncio.Event
    ) -> None:
        self._always = always
        self._leading = leading
        self._shell = shell
        self._stop = stop

    async def run(self, stop_seconds: float) -> int:
        """Start everything, wait for an end, stop everything in order."""
        self._take_signals()
        self._always.start()
        self._leading.start()
        try:
            await self._shell.start()
            self._take_signals()  # Kopf has put its own in
            has_failed = await self._wait()
        finally:
            self._release_signals()  # a second signal ends the process on the spot
            has_stopped = await self._stop_all(stop_seconds)
        return 1 if has_failed or not has_stopped else 0

    async def _wait(self) -> bool:
        """Wait for the wish to stop or for the first death; True when something died."""
        asked = asyncio.create_task(self._stop.wait(), name="wait for the stop")
        tasks = self._always.tasks | self._leading.tasks | self._shell.tasks
        try:
            await asyncio.wait({asked, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            asked.cancel()
        if self._stop.is_set():
            return False
        deaths = [self._always.report_ended(), self._leading.report_ended()]
        return any(deaths) or self._shell.report_ended()

    async def _stop_all(self, seconds: float) -> bool:
        """First who writes, releasing the lease; then the wake-ups; then what they stood upon."""
        _log.info("stopping")
        return all(
            [
                await self._leading.stop(seconds * _LEADING_SHARE),
                await self._shell.stop(seconds * _KOPF_SHARE),
                await self._always.stop(seconds * _ALWAYS_SHARE),
            ]
        )

    def _take_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                asyncio.get_running_loop().add_signal_handler(number, self._stop.set)

    def _release_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                asyncio.get_running_loop().remove_signal_handler(number)


class _KopfShell:
    """One embedded Kopf operator with a registry of its own."""

    def __init__(
        self,
        settings: ProcessSettings,
        register: Callable[[kopf.OperatorRegistry], None],
        ready: Callable[[], bool],
        namespaces: Sequence[str],
    ) -> None:
        self._settings = settings
        self._namespaces = namespaces
        self._stop_flag = asyncio.Event()
        self._registry = kopf.OperatorRegistry()
        self.tasks: set[asyncio.Task[Any]] = set()
        register(self._registry)
        _refuse_writing_handlers(self._registry)
        kopf.on.login(registry=self._registry, id="login", errors=kopf.ErrorsMode.TEMPORARY)(
            self._login
        )
        if settings.liveness_endpoint is not None:
            kopf.on.probe(registry=self._registry, id="ready")(lambda **_: ready())

    async def start(self) -> None:
        """Spawn Kopf's root tasks."""
        self.tasks = set(
            await kopf.spawn_tasks(
                registry=self._registry,
                settings=_kopf_settings(),
                standalone=True,
                clusterwide=not self._namespaces,
                namespaces=self._namespaces,
                liveness_endpoint=self._settings.liveness_endpoint,
                stop_flag=self._stop_flag,
            )
        )

    def report_ended(self) -> bool:
        """Log which of Kopf's root tasks has ended by itself; True when there is one."""
        ended = [task for task in self.tasks if task.done()]
        for task in ended:
            error = None if task.cancelled() else task.exception()
            _log.error("kopf ended", extra=logs.fields(task=task.get_name(), error=repr(error)))
        return bool(ended)

    async def stop(self, seconds: float) -> bool:
        """Let Kopf end its tasks, and only its own: it would cancel every task of the loop."""
        if not self.tasks:
            return True
        self._stop_flag.set()
        ours = {task for task in asyncio.all_tasks() if not _is_of_kopf(task)}
        try:
            async with asyncio.timeout(seconds):
                with _silenced("kopf"):  # it closes its connections under its own requests
                    await kopf.run_tasks(self.tasks, ignored=ours)
        except TimeoutError:
            _log.error("kopf does not stop", extra=logs.fields(seconds=seconds))
            return False
        except Exception as error:  # noqa: BLE001 - whatever it died of was reported before
            _log.debug("kopf stopped with an error", exc_info=error)
        return True

    async def _login(self, **_: object) -> kopf.AiohttpSession:
        """Read the same credentials as the ApiClient; Kopf calls it again after a 401."""
        try:
            login = await credentials.load(self._settings.kubeconfig, self._settings.context)
        except BadKubeconfig as error:
            raise kopf.TemporaryError(error.diagnostics(), delay=_LOGIN_RETRY_SECONDS) from error
        session = login.open_pool(f"{self._settings.name} (kopf)")
        if login.authorization is not None:
            session.headers["Authorization"] = login.authorization
        # Kopf's requests know nothing of a proxy or of a server name of the kubeconfig.
        session.request = functools.partial(  # type: ignore[method-assign]
            session.request, proxy=login.proxy, server_hostname=login.tls_server_name
        )
        return kopf.AiohttpSession(
            server=login.server,
            default_namespace=login.namespace,
            aiohttp_session=session,
            expiration=_expiration(login.refresh_seconds),
        )


@contextmanager
def _silenced(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _kopf_settings() -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False  # the EventRecorder posts
    settings.scanning.disabled = True  # CRDs are checked at the start; no watch on them all
    settings.process.ultimate_exiting_timeout = None  # the stop has its own deadlines
    settings.watching.server_timeout = _WATCH_SECONDS
    settings.watching.connect_timeout = _CONNECT_SECONDS
    return settings


def _refuse_writing_handlers(registry: kopf.OperatorRegistry) -> None:
    """Create, update, delete, timer and daemon handlers write to the users' objects."""
    writing = [
        *registry._changing.get_all_handlers(),  # noqa: SLF001 - no public way to ask
        *registry._spawning.get_all_handlers(),  # noqa: SLF001
    ]
    if writing:
        names = ", ".join(str(handler.id) for handler in writing)
        raise TypeError(f"expected only on.event, admission and activity handlers, found {names}")


def _is_of_kopf(task: asyncio.Task[Any]) -> bool:
    frame = getattr(task.get_coro(), "cr_frame", None)
    return frame is not None and str(frame.f_globals.get("__name__")).startswith("kopf.")


def _expiration(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.now(UTC) + timedelta(seconds=seconds)


def _elector(
    settings: ProcessSettings, api: ApiClient, instrumentation: Instrumentation, clock: Clock
) -> LeaderElector:
    # Two processes of one identity would both lead: a pod's name alone is not enough.
    identity = f"{socket.gethostname()}_{uuid.uuid4().hex[:12]}"
    return LeaderElector(
        api,
        name=settings.name,
        namespace=settings.namespace,
        identity=identity,
        lease_seconds=settings.lease_seconds,
        renew_seconds=settings.renew_seconds,
        retry_seconds=settings.retry_seconds,
        clock=clock,
        instrumentation=instrumentation,
    )


async def _until(ready: Callable[[], bool], clock: Clock) -> None:
    while not ready():
        await clock.sleep(_READY_POLL_SECONDS)


async def _all(services: Sequence[Service]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for service in services:
            tasks.create_task(_awaited(service))


async def _awaited(function: Callable[[], Awaitable[R]]) -> R:
    return await function()
