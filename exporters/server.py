"""The HTTP server of every process: /metrics for Prometheus, /healthz and /readyz for the kubelet.

`build_server` makes one from the settings; the part runs it beside its informers. The probes are
open to all, the page only to whom the API server lets GET /metrics. Rendering and compression run
in a thread: they hold the loop up by milliseconds instead of by the length of the page.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from aiohttp import web

from exporters.authorization import ScrapeAuthorization, Verdict
from exporters.certificates import CertificateFiles, SelfSigned, ServingTls
from exporters.encoding import END_OF_OPENMETRICS
from exporters.errors import CannotServe
from exporters.instrument import Instruments
from exporters.loop_lag import watch_loop_lag
from exporters.negotiation import CONTENT_TYPES, Format, accepts_gzip, choose_format
from exporters.settings import MetricsSettings
from kube_runtime.api import ApiClient
from kube_runtime.logs import fields

_GZIP_LEVEL: Final = 1  # 8.6 MB: 16 ms to 0.54 MB; level 9 takes 216 ms to 0.30 MB
_WORTH_COMPRESSING: Final = 1024
_CLOSE_SECONDS: Final = 2.0  # for scrapes in flight
_STATUS: Final[dict[Verdict, int]] = {
    "allowed": 200,
    "outage_allowed": 200,
    "unauthenticated": 401,
    "denied": 403,
    "error": 503,
}
_EXPLANATION: Final = {
    401: "expected a bearer token that the API server accepts\n",
    403: "expected the right to GET /metrics: bind the ClusterRole levelset-metrics-reader\n",
    503: "the API server could not be asked whether you may read this; try again\n",
}
_LOG: Final = logging.getLogger(__name__)


class MetricsServer:
    """Serves one process's instruments; `extra` pages are appended as they are."""

    def __init__(
        self,
        instruments: Instruments,
        *,
        host: str,
        port: int,
        tls: ServingTls | None,
        auth: ScrapeAuthorization | None,
        ready: Callable[[], bool],
        extra: Sequence[Callable[[], bytes]] = (),
    ) -> None:
        self._instruments = instruments
        self._host = host
        self._wanted_port = port
        self._tls = tls
        self._auth = auth
        self._ready = ready
        self._extra = extra
        self._port: int | None = None
        self._runner: web.AppRunner | None = None
        self._started = asyncio.Event()
        self._requests = instruments.counter("levelset_metrics_requests_total")
        self._reviews = instruments.counter("levelset_metrics_reviews_total")
        self._render_time = instruments.histogram("levelset_metrics_render_duration_seconds")
        self._size = instruments.gauge("levelset_metrics_response_bytes")
        is_insecure = tls is None or auth is None
        instruments.gauge("levelset_metrics_insecure").set(is_insecure)

    @property
    def port(self) -> int:
        """Return the port that is listened on; known once started."""
        if self._port is None:
            raise CannotServe("the metrics server is not started; wait for wait_started() first")
        return self._port

    async def wait_started(self, timeout_seconds: float = 10.0) -> None:
        """Wait until the port is open."""
        async with asyncio.timeout(timeout_seconds):
            await self._started.wait()

    async def open(self) -> None:
        """Open the port; raises CannotServe. Called by run(), or before it for an early error."""
        if self._runner is not None:
            return
        self._runner = web.AppRunner(
            self._application(), access_log=None, shutdown_timeout=_CLOSE_SECONDS
        )
        await self._runner.setup()
        try:
            await self._listen(self._runner)
        except CannotServe:
            await self.close()
            raise

    async def close(self) -> None:
        """Close the port; harmless when it is not open."""
        runner, self._runner, self._port = self._runner, None, None
        if runner is not None:
            await runner.cleanup()

    async def run(self) -> None:
        """Serve until cancelled; raises CannotServe when the port cannot be opened."""
        await self.open()
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(watch_loop_lag(self._instruments))
                if self._tls is not None:
                    tasks.create_task(self._tls.keep_fresh(_certificate_counter(self._instruments)))
        finally:
            await self.close()

    def _application(self) -> web.Application:
        application = web.Application()
        application.router.add_get("/metrics", self._metrics)
        application.router.add_get("/healthz", _answer(lambda: True))
        application.router.add_get("/readyz", _answer(self._ready))
        return application

    async def _listen(self, runner: web.AppRunner) -> None:
        site = web.TCPSite(
            runner,
            self._host,
            self._wanted_port,
            ssl_context=self._tls.context() if self._tls else None,
        )
        try:
            await site.start()
        except OSError as error:
            raise CannotServe(
                f"metrics address {self._host}:{self._wanted_port}: expected to listen on it, "
                f"found: {_reason(error)}; choose another with --metrics-port",
            ) from error
        self._port = int(runner.addresses[0][1])
        self._started.set()
        _LOG.info("serving metrics", extra=fields(host=self._host, port=self._port))

    async def _metrics(self, request: web.Request) -> web.Response:
        status = await self._status(request)
        self._requests.labels(str(status)).inc()
        if status != 200:
            headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
            return web.Response(status=status, text=_EXPLANATION[status], headers=headers)
        return await self._page(request)

    async def _status(self, request: web.Request) -> int:
        if self._auth is None:
            return 200
        verdict = await self._auth.verdict(request.headers.get("Authorization", ""))
        self._reviews.labels(verdict).inc()
        return _STATUS[verdict]

    async def _page(self, request: web.Request) -> web.Response:
        form = choose_format(request.headers.get("Accept", ""))
        wants_gzip = accepts_gzip(request.headers.get("Accept-Encoding", ""))
        begin = time.perf_counter()
        extra = [page for source in self._extra if (page := self._guarded(source))]
        body, size = await asyncio.to_thread(self._rendered, form, extra, compress=wants_gzip)
        self._render_time.observe(time.perf_counter() - begin)
        self._size.set(size)
        headers = {"Content-Type": CONTENT_TYPES[form], "Vary": "Accept, Accept-Encoding"}
        if len(body) != size:
            headers["Content-Encoding"] = "gzip"
        return web.Response(body=body, headers=headers)

    def _guarded(self, source: Callable[[], bytes]) -> bytes:
        """Take an extra page; it is joined in the loop, where nothing changes it meanwhile."""
        try:
            return source()
        except Exception as error:  # noqa: BLE001 - a broken page costs itself only
            self._instruments.registry.report(getattr(source, "__qualname__", "extra"), error)
            return b""

    def _rendered(self, form: Format, extra: list[bytes], *, compress: bool) -> tuple[bytes, int]:
        """Render and compress; returns the body and its size before compression."""
        end = END_OF_OPENMETRICS if form == "openmetrics" else b""
        page = b"".join((self._instruments.registry.render(form), *extra, end))
        if not compress or len(page) < _WORTH_COMPRESSING:
            return page, len(page)
        return gzip.compress(page, _GZIP_LEVEL, mtime=0), len(page)


def build_server(
    settings: MetricsSettings,
    instruments: Instruments,
    *,
    api: ApiClient,
    ready: Callable[[], bool],
    extra: Sequence[Callable[[], bytes]] = (),
) -> MetricsServer:
    """Make the server that the settings ask for; `api` asks the API server who may scrape."""
    settings.check()
    return MetricsServer(
        instruments,
        host=settings.metrics_host,
        port=settings.metrics_port,
        tls=_tls(settings),
        auth=None if settings.insecure_metrics else _authorization(api),
        ready=ready,
        extra=extra,
    )


def _authorization(api: ApiClient) -> ScrapeAuthorization:
    # A review is a POST but no write: a standby, whose fence is closed, is scraped as well.
    return ScrapeAuthorization(api.without_fence())


def _tls(settings: MetricsSettings) -> ServingTls | None:
    if settings.insecure_metrics:
        return None
    if settings.metrics_cert_file and settings.metrics_key_file:
        return CertificateFiles(settings.metrics_cert_file, settings.metrics_key_file)
    return SelfSigned()


def _reason(error: OSError) -> str:
    """Say it in the system's words; asyncio wraps them in a sentence that repeats the address."""
    return os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)


def _answer(is_true: Callable[[], bool]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def handler(_request: web.Request) -> web.Response:
        if is_true():
            return web.Response(text="ok\n")
        return web.Response(status=503, text="not ready\n")

    return handler


def _certificate_counter(instruments: Instruments) -> Callable[[bool], None]:
    read = instruments.counter("certwatcher_read_certificate_total")
    failed = instruments.counter("certwatcher_read_certificate_errors_total")

    def count(ok: bool) -> None:  # noqa: FBT001 - the one fact that is told
        read.inc()
        if not ok:
            failed.inc()

    return count
