"""The program behind GitServer: git's smart HTTP protocol through `git http-backend`, with basic authentication.

Started as `python -m local_cluster.services.git_http CONFIG`, where CONFIG is the JSON file that GitServer wrote.
Bodies stream both ways, so a repository of any size passes in constant memory. It knows nothing of branches or
webhooks: git runs the repository's post-receive hook by itself.
"""

import asyncio
import base64
import hmac
import json
import logging
import ssl
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web

_CHUNK_BYTES = 64 * 1024
_BACKEND_TIMEOUT_SECONDS = 300.0
_MAX_HEADER_LINES = 64
_LOG = logging.getLogger("git-http")


@dataclass(frozen=True, slots=True)
class HttpConfig:
    """What GitServer hands over; tokens live in this file only (mode 0600)."""

    host: str
    port: int
    repositories: str
    tokens: Mapping[str, str]
    certificate: str | None = None
    key: str | None = None


def load_config(path: Path) -> HttpConfig:
    """Read the configuration file."""
    return HttpConfig(**json.loads(path.read_text()))


def make_app(config: HttpConfig) -> web.Application:
    """Build the application: every path is authenticated, then handed to git."""
    server = _GitHttp(config)
    app = web.Application()
    app.router.add_route("*", "/{path:.+}", server.handle)
    return app


class _GitHttp:
    def __init__(self, config: HttpConfig) -> None:
        self._config = config

    async def handle(self, request: web.Request) -> web.StreamResponse:
        user = self._user_of(request)
        if user is None:
            challenge = {"WWW-Authenticate": 'Basic realm="git", charset="UTF-8"'}
            return web.Response(status=401, text="authentication required\n", headers=challenge)
        backend = await asyncio.create_subprocess_exec(
            "git",
            "http-backend",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=None,  # the server's own log
            env=_cgi_environment(self._config, request, user=user),
        )
        try:
            async with asyncio.timeout(_BACKEND_TIMEOUT_SECONDS):
                return await _converse(request, backend)
        finally:
            if backend.returncode is None:
                backend.kill()
            # Its wait() is also for the end of the pipes, and nobody reads what they still hold.
            backend._transport.close()  # type: ignore[attr-defined] # noqa: SLF001 - no public way
            await backend.wait()

    def _user_of(self, request: web.Request) -> str | None:
        user, password = _basic_credentials(request.headers.get("Authorization", ""))
        expected = self._config.tokens.get(user)
        is_right = hmac.compare_digest((expected or "").encode(), password.encode())
        return user if expected and is_right else None


def _basic_credentials(header: str) -> tuple[str, str]:
    """Return user and password, both empty when the header is not basic authentication."""
    scheme, _, encoded = header.partition(" ")
    try:
        text = base64.b64decode(encoded, validate=True).decode() if scheme == "Basic" else ""
    except ValueError:
        text = ""
    user, _, password = text.partition(":")
    return user, password


def _cgi_environment(config: HttpConfig, request: web.Request, *, user: str) -> dict[str, str]:
    headers = request.headers
    optional = {
        "CONTENT_LENGTH": headers.get("Content-Length"),
        "HTTP_CONTENT_ENCODING": headers.get("Content-Encoding"),
        "GIT_PROTOCOL": headers.get("Git-Protocol"),
    }
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": config.repositories,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_PROJECT_ROOT": config.repositories,
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query_string,
        "REQUEST_METHOD": request.method,
        "CONTENT_TYPE": headers.get("Content-Type", ""),
        "REMOTE_USER": user,
        "REMOTE_ADDR": request.remote or "",
        **{name: value for name, value in optional.items() if value},
    }


async def _converse(
    request: web.Request, backend: asyncio.subprocess.Process
) -> web.StreamResponse:
    assert backend.stdin is not None  # noqa: S101 - pipes were asked for
    assert backend.stdout is not None  # noqa: S101
    feeding = asyncio.create_task(_feed(request, backend.stdin))
    try:
        response = await _response_head(backend.stdout)
        await response.prepare(request)
        while chunk := await backend.stdout.read(_CHUNK_BYTES):
            await response.write(chunk)
        await response.write_eof()
    finally:
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)
    return response


async def _feed(request: web.Request, stdin: asyncio.StreamWriter) -> None:
    try:
        async for chunk in request.content.iter_chunked(_CHUNK_BYTES):
            stdin.write(chunk)
            await stdin.drain()
    except (BrokenPipeError, ConnectionResetError):
        return  # git has answered without reading everything, as it may
    finally:
        stdin.close()


async def _response_head(stdout: asyncio.StreamReader) -> web.StreamResponse:
    """Read the CGI header; a Status line is optional and means 200 when absent."""
    response = web.StreamResponse()
    for _ in range(_MAX_HEADER_LINES):
        line = (await stdout.readline()).decode("latin-1").strip()
        if not line:
            return response
        name, _, value = line.partition(":")
        if name.lower() == "status":
            response.set_status(int(value.split()[0]))
        else:
            response.headers[name] = value.strip()
    raise web.HTTPBadGateway(text="git http-backend sent no end of headers\n")


async def _serve(config: HttpConfig) -> None:
    tls = None
    if config.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(config.certificate, config.key)
    # Bodies arrive as they were sent: git compresses them itself and its backend expects to unpack them.
    runner = web.AppRunner(make_app(config), auto_decompress=False, handle_signals=True)
    await runner.setup()
    await web.TCPSite(runner, config.host, config.port, ssl_context=tls).start()
    _LOG.info("serving %s on %s:%d", config.repositories, config.host, config.port)
    try:
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def main(argv: list[str]) -> int:
    """Serve until SIGTERM."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
    try:
        asyncio.run(_serve(load_config(Path(argv[0]))))
    except (web.GracefulExit, KeyboardInterrupt):
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
