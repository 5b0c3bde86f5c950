"""The HTTPS server that the API server calls.

This is a loop's edge: whatever happens inside, the API server gets an answer with a reason, and
the answer to "something went wrong" is no. Kopf's own admission server is not used; why stands in
docs/design/004-admission.md.
"""

import asyncio
import logging
import ssl
import time
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from kube_runtime import logs
from kube_runtime.errors import LevelsetError
from supply_chain import names
from supply_chain.admission import webhook
from supply_chain.admission.judge import Judge
from supply_chain.admission.review import Answer, BadReview, Review, parse_review, render
from supply_chain.errors import SupplyChainError

_log: Final = logging.getLogger(__name__)
_MAX_BODY_BYTES: Final = 16 * 1024 * 1024
# Longer than the API server keeps an idle connection (90 s), so that it is never the one surprised.
_KEEPALIVE_SECONDS: Final = 150.0
_CLOSE_SECONDS: Final = 5.0
# The judge's own deadline is 7 s; this one is for what lies outside of it. The webhook's is 10 s.
_LAST_RESORT_SECONDS: Final = 9.0

Decide = Callable[[Review, Judge], Awaitable[Answer]]
Observer = Callable[[str, str, str, float], None]
"""Told of each review: webhook, operation, result, seconds."""


class CannotListen(SupplyChainError):  # noqa: N818 - named as what happened
    """The port cannot be opened."""

    reason = "CannotListen"


class AdmissionServer:
    """Serves both webhooks; `run` is one of the process's services."""

    def __init__(
        self,
        judge: Judge,
        context: ssl.SSLContext,
        *,
        host: str,
        port: int,
        is_ready: Callable[[], bool],
        observe: Observer = lambda *_: None,
    ) -> None:
        self._judge = judge
        self._context = context
        self._host = host
        self._wanted_port = port
        self._is_ready = is_ready
        self._observe = observe
        self.port = port
        self.started = asyncio.Event()

    async def run(self) -> None:
        """Serve until cancelled; raises CannotListen when the port cannot be opened."""
        runner = web.AppRunner(
            self._application(), access_log=None, keepalive_timeout=_KEEPALIVE_SECONDS
        )
        await runner.setup()
        try:
            await self._listen(runner)
            self.started.set()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        site = web.TCPSite(
            runner, self._host, self._wanted_port, ssl_context=self._context, backlog=512
        )
        try:
            await site.start()
        except OSError as error:
            raise CannotListen(
                f"admission server: expected to listen on {self._host}:{self._wanted_port}, found "
                f"{error.strerror or error}; free the port or choose another with --admission-port"
            ) from error
        self.port = runner.addresses[0][1]
        _log.info("admission server listens", extra=logs.fields(host=self._host, port=self.port))

    def _application(self) -> web.Application:
        application = web.Application(client_max_size=_MAX_BODY_BYTES)
        application.router.add_post(names.MUTATE_PATH, self._handler("mutate", webhook.mutate))
        application.router.add_post(
            names.VALIDATE_PATH, self._handler("validate", webhook.validate)
        )
        return application

    def _handler(
        self, name: str, decide: Decide
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handle(request: web.Request) -> web.Response:
            try:
                review = parse_review(await request.read())
            except BadReview as error:
                return web.Response(status=400, text=f"{error}\n")
            began = time.monotonic()
            answer, result = await self._decide(review, decide)
            self._observe(name, review.operation.lower(), result, time.monotonic() - began)
            return web.Response(body=render(review.uid, answer), content_type="application/json")

        return handle

    async def _decide(self, review: Review, decide: Decide) -> tuple[Answer, str]:
        if not self._is_ready():
            why = "the image policies are not known yet; try again in a moment"
            return _refusal(review, why), "error"
        try:
            async with asyncio.timeout(_LAST_RESORT_SECONDS):
                answer = await decide(review, self._judge)
        except LevelsetError as error:
            return _refusal(review, error.diagnostics()), "error"
        except TimeoutError:
            return _refusal(review, "no verdict in time; try again"), "error"
        except Exception as error:  # noqa: BLE001 - the edge: no answer would be worse than no
            _log.exception("review failed", extra=logs.fields(object=_object_of(review)))
            return _refusal(
                review, f"internal error ({type(error).__name__}); see the log"
            ), "error"
        if not answer.is_allowed:
            _log.info(
                "denied", extra=logs.fields(object=_object_of(review), message=answer.message)
            )
        return answer, "allowed" if answer.is_allowed else "denied"


def _refusal(review: Review, why: str) -> Answer:
    return Answer(
        is_allowed=False, message=f"{_object_of(review)}: its images cannot be verified: {why}"
    )


def _object_of(review: Review) -> str:
    return f"{review.kind} {review.namespace}/{review.name or '(generated name)'}"
