"""The HTTP server for push webhooks.

Every answer is short and the same for everyone who has no signature; a delivery that comes twice is
answered and not acted upon. What is accepted only wakes Applications that already use the repository.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from aiohttp import web

from gitops_agent.errors import GitOpsError
from gitops_agent.push.payload import Malformed, Push, is_signed, read_push, sender_of
from kube_runtime.logs import fields

_LOG: Final = logging.getLogger(__name__)
_BODY_BYTES: Final = 1024 * 1024
_SECRET_BYTES: Final = 4096
_DELIVERIES: Final = 4096
_READ_SECONDS: Final = 10.0


class CannotListen(GitOpsError):  # noqa: N818 - named as what happened
    """The port of the push webhook cannot be opened."""

    reason = "CannotListen"


class HintObserver(Protocol):
    """Is told of every request."""

    def hint(self, sender: str, result: str) -> None:
        """Count one request by sender and result."""


class PushReceiver:
    """Listens for pushes and hands on the index keys of their repositories."""

    def __init__(
        self,
        *,
        host: str,
        port: int,
        secret_file: Path | None,
        on_push: Callable[[str], None],
        observer: HintObserver,
    ) -> None:
        self._host = host
        self._wanted_port = port
        self._secret_file = secret_file
        self._on_push = on_push
        self._observer = observer
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._started = asyncio.Event()
        self.port = 0
        """The port that is listened on, once started."""

    async def wait_started(self, timeout_seconds: float = 10.0) -> None:
        """Wait until the port is open."""
        async with asyncio.timeout(timeout_seconds):
            await self._started.wait()

    async def run(self) -> None:
        """Serve until cancelled; raises CannotListen."""
        application = web.Application(client_max_size=_BODY_BYTES)
        for path in ("/", "/push", "/api/webhook"):  # the last one is Argo CD's
            application.router.add_post(path, self._push)
        runner = web.AppRunner(application, access_log=None, handle_signals=False)
        await runner.setup()
        try:
            await self._listen(runner)
            self._started.set()
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()

    async def _listen(self, runner: web.AppRunner) -> None:
        site = web.TCPSite(runner, self._host, self._wanted_port)
        try:
            await site.start()
        except OSError as error:
            raise CannotListen(
                f"push webhook: cannot listen on {self._host}:{self._wanted_port}: "
                f"{error.strerror}; choose another --webhook-port"
            ) from error
        self.port = runner.addresses[0][1]
        _LOG.info("listening for pushes", extra=fields(host=self._host, port=self.port))

    async def _push(self, request: web.Request) -> web.Response:
        sender = sender_of(request.headers).value
        try:
            async with asyncio.timeout(_READ_SECONDS):
                body = await request.read()
        except TimeoutError:
            return self._answer(sender, "malformed", 408, "the body took too long")
        secret = await asyncio.to_thread(self._secret)
        if not is_signed(request.headers, body, secret):
            return self._answer(sender, "unsigned", 401, "expected a valid signature")
        try:
            push = read_push(request.headers, body)
        except Malformed as error:
            return self._answer(sender, "malformed", 400, str(error))
        if push is None:
            return self._answer(sender, "ignored", 200, "no push")
        if self._is_repeated(push):
            return self._answer(sender, "duplicate", 200, "seen before")
        for index_key in push.index_keys:
            self._on_push(index_key)
        return self._answer(sender, "accepted", 202, "accepted")

    def _answer(self, sender: str, result: str, status: int, text: str) -> web.Response:
        self._observer.hint(sender, result)
        if status >= 400:
            _LOG.warning("push refused", extra=fields(sender=sender, result=result, status=status))
        return web.Response(status=status, text=f"{text}\n")

    def _is_repeated(self, push: Push) -> bool:
        if not push.delivery:
            return False
        is_repeated = push.delivery in self._seen
        self._seen[push.delivery] = None
        self._seen.move_to_end(push.delivery)
        if len(self._seen) > _DELIVERIES:
            self._seen.popitem(last=False)
        return is_repeated

    def _secret(self) -> bytes:
        """Read the secret each time: a mounted Secret is rotated under us."""
        if self._secret_file is None:
            return b""
        try:
            with self._secret_file.open("rb") as file:
                return file.read(_SECRET_BYTES).strip()
        except OSError as error:
            _LOG.error(
                "push secret cannot be read",
                extra=fields(file=self._secret_file, error=error.strerror),
            )
            return b""
