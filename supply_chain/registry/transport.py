"""HTTP to registries: bounded, authenticated, and loyal to one host.

Redirects are followed by hand, for content alone: the Authorization header stays behind when the
host changes, and plain http is never reached from https. Answers are cut off at a limit.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import aiohttp
import orjson
from yarl import URL

from supply_chain.errors import RegistryDenied, RegistryUnreachable, UntrustworthyRegistry
from supply_chain.registry import auth
from supply_chain.registry.credentials import Credential
from supply_chain.registry.reference import DEFAULT_HOST

_HUB_HOST: Final = "registry-1.docker.io"
_MAX_REDIRECTS: Final = 3
_MAX_TOKEN_BYTES: Final = 65_536
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_CHUNK: Final = 65_536

Observer = Callable[[str, str, float], None]
"""Told of each request: what it was for, the status (or "error"), how long it took."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer: status, headers and at most the allowed bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class TransportSettings:
    """What the operator allows."""

    insecure_registries: frozenset[str] = frozenset()
    token_hosts: Mapping[str, str] = field(default_factory=dict)
    request_timeout_seconds: float = 5.0


class Transport:
    """One session for all registries."""

    def __init__(
        self, session: aiohttp.ClientSession, settings: TransportSettings, observe: Observer
    ) -> None:
        self._session = session
        self._settings = settings
        self._observe = observe

    def base_url(self, host: str) -> URL:
        """Return where the host's API is; plain http only where the settings say so."""
        address = _HUB_HOST if host == DEFAULT_HOST else host
        scheme = "http" if address in self._settings.insecure_registries else "https"
        try:
            return URL(f"{scheme}://{address}")
        except ValueError as error:
            raise RegistryUnreachable(f"{host} is not a registry's address: {error}") from error

    def connection(self, host: str, repository: str, credential: Credential | None) -> "Connection":
        """Return a view of one repository with one credential."""
        return Connection(self, self.base_url(host), repository, credential)

    async def send(self, url: URL, headers: Mapping[str, str], *, what: str, limit: int) -> Answer:
        """Send one GET without following anything; raises RegistryUnreachable."""
        began, code = time.monotonic(), "error"
        try:
            async with asyncio.timeout(self._settings.request_timeout_seconds):
                async with self._session.get(
                    url, headers=dict(headers), allow_redirects=False
                ) as response:
                    code = str(response.status)
                    body = await _bounded(response, what, limit)
                    return Answer(response.status, response.headers, body)
        except TimeoutError as error:
            seconds = self._settings.request_timeout_seconds
            raise RegistryUnreachable(
                f"registry {url.authority} did not answer within {seconds:g} s ({what})"
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RegistryUnreachable(
                f"registry {url.authority} is unreachable ({what}): {str(error) or type(error).__name__}"
            ) from error
        finally:
            self._observe(what, code, time.monotonic() - began)

    async def token(self, challenge: auth.Bearer, connection: "Connection") -> str:
        """Get a pull token; raises RegistryDenied."""
        url = auth.token_url(
            challenge,
            connection.base,
            connection.repository,
            token_hosts=self._settings.token_hosts,
        )
        credential = connection.credential
        headers = {"Authorization": credential.basic} if credential else {}
        answer = await self.send(url, headers, what="token", limit=_MAX_TOKEN_BYTES)
        if answer.status != 200:
            raise RegistryDenied(
                f"registry {connection.base.authority} gave no token for {connection.repository}: "
                f"HTTP {answer.status} from {url.authority}; check the pull secret"
            )
        try:
            document = orjson.loads(answer.body)
            token = document.get("token") or document.get("access_token")
        except (ValueError, AttributeError) as error:
            raise UntrustworthyRegistry(f"{url.authority} answered with no token") from error
        if not isinstance(token, str) or not token.isprintable():
            raise UntrustworthyRegistry(f"{url.authority} answered with no token")
        return token


class Connection:
    """Requests about one repository; learns once how the registry wants to be asked."""

    def __init__(
        self, transport: Transport, base: URL, repository: str, credential: Credential | None
    ) -> None:
        self._transport = transport
        self.base = base
        self.repository = repository
        self.credential = credential
        self._authorization: str | None = None

    def url(self, path: str) -> URL:
        """Return the address of something in the repository."""
        return self.base.with_path(f"/v2/{self.repository}/{path}", encoded=True)

    async def get(
        self, url: URL, *, accept: str, what: str, limit: int, follow: bool = True
    ) -> Answer:
        """Get something, authenticating once if asked to, following redirects if allowed."""
        answer = await self._send(url, accept, what, limit)
        if answer.status == 401 and self._authorization is None:
            self._authorization = await self._authorize(answer)
            answer = await self._send(url, accept, what, limit)
        if answer.status in {401, 403}:
            who = f"as {self.credential.username}" if self.credential else "without credentials"
            raise RegistryDenied(
                f"registry {self.base.authority} refuses {self.repository} {who} "
                f"(HTTP {answer.status}); check the pod's imagePullSecrets"
            )
        return await self._followed(answer, url, accept, what, limit) if follow else answer

    async def _send(self, url: URL, accept: str, what: str, limit: int) -> Answer:
        # Unpacked, bytes could be more than their length says, and their digest is of the packed.
        headers = {"Accept": accept, "Accept-Encoding": "identity"}
        if self._authorization is not None and url.origin() == self.base.origin():
            headers["Authorization"] = self._authorization
        return await self._transport.send(url, headers, what=what, limit=limit)

    async def _authorize(self, answer: Answer) -> str | None:
        challenge = auth.parse_challenge(answer.headers.get("WWW-Authenticate", ""))
        match challenge:
            case auth.Bearer():
                return f"Bearer {await self._transport.token(challenge, self)}"
            case auth.Basic():
                return self.credential.basic if self.credential else None
            case None:
                return None

    async def _followed(
        self, answer: Answer, url: URL, accept: str, what: str, limit: int
    ) -> Answer:
        for _ in range(_MAX_REDIRECTS):
            if answer.status not in _REDIRECTS:
                return answer
            url = _target(url, answer.headers.get("Location", ""))
            answer = await self._send(url, accept, what, limit)
        if answer.status in _REDIRECTS:
            raise UntrustworthyRegistry(
                f"registry {self.base.authority} redirects more than {_MAX_REDIRECTS} times ({what})"
            )
        return answer


def _target(url: URL, location: str) -> URL:
    try:
        target = url.join(URL(location))
    except ValueError as error:
        raise UntrustworthyRegistry(f"{url.authority} redirects to no address") from error
    leaves = target.origin() != url.origin() if target.host else True
    if not target.host or target.user or (leaves and target.scheme != "https"):
        raise UntrustworthyRegistry(
            f"registry {url.authority} redirects to {target.scheme}://{target.host}: "
            "expected https, or the same host"
        )
    return target


async def _bounded(response: aiohttp.ClientResponse, what: str, limit: int) -> bytes:
    parts, size = [], 0
    async for part in response.content.iter_chunked(_CHUNK):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise UntrustworthyRegistry(
                f"registry {response.url.authority} sends more than {limit} bytes ({what})"
            )
    return b"".join(parts)
