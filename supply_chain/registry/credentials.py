"""Registry credentials: whose they are, and which host may see them.

A credential belongs to the registry that its Docker configuration names, and is never shown to
another host, whatever that registry answers.
"""

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from supply_chain.registry.reference import DEFAULT_HOST, normalised_host

ANONYMOUS_SCOPE: Final = "anonymous"


@dataclass(frozen=True, slots=True)
class Credential:
    """A user name and a password, which no representation shows."""

    username: str
    password: str = field(repr=False)

    @property
    def basic(self) -> str:
        """Return the value of an Authorization header."""
        pair = f"{self.username}:{self.password}".encode()
        return f"Basic {base64.b64encode(pair).decode()}"

    @property
    def scope(self) -> str:
        """Return a name for "with these rights" that tells nothing about the password."""
        digest = hashlib.sha256(self.basic.encode()).hexdigest()
        return digest[:32]


@dataclass(frozen=True, slots=True)
class Keychain:
    """The credentials of one pod: by host, or by host and repository prefix."""

    entries: tuple[tuple[str, Credential], ...] = ()

    def credential_for(self, host: str, repository: str) -> Credential | None:
        """Return the credential of the longest matching entry."""
        name = f"{host}/{repository}/"
        fitting = [entry for entry in self.entries if name.startswith(f"{entry[0]}/")]
        return max(fitting, key=lambda entry: len(entry[0]))[1] if fitting else None

    def scope_for(self, host: str, repository: str) -> str:
        """Name the rights with which an answer was had, for the cache."""
        credential = self.credential_for(host, repository)
        return ANONYMOUS_SCOPE if credential is None else credential.scope


def keychain(documents: Iterable[bytes]) -> Keychain:
    """Join Docker configurations; earlier ones win, broken ones are passed over."""
    entries: dict[str, Credential] = {}
    for document in documents:
        for host, credential in _parse(document):
            entries.setdefault(host, credential)
    return Keychain(tuple(entries.items()))


def pull_secret_document(secret: Mapping[str, Any]) -> bytes | None:
    """Return the Docker configuration in a pull Secret, in today's form; None if it has none."""
    data = secret.get("data") or {}
    try:
        if config := data.get(".dockerconfigjson"):
            return base64.b64decode(config)
        if config := data.get(".dockercfg"):
            return orjson.dumps({"auths": orjson.loads(base64.b64decode(config))})
    except (ValueError, binascii.Error, TypeError):
        return None
    return None


def _parse(document: bytes) -> Iterable[tuple[str, Credential]]:
    try:
        auths = orjson.loads(document).get("auths") or {}
        pairs = list(auths.items())
    except (ValueError, AttributeError):
        return
    for address, entry in pairs:
        credential = _credential(entry)
        if credential is not None:
            yield _host_of(address), credential


def _credential(entry: object) -> Credential | None:
    if not isinstance(entry, dict):
        return None
    username, password = entry.get("username"), entry.get("password")
    if isinstance(auth := entry.get("auth"), str) and auth:
        try:
            username, _, password = base64.b64decode(auth).decode().partition(":")
        except (ValueError, binascii.Error):
            return None
    if not isinstance(username, str) or not isinstance(password, str) or not username:
        return None
    return Credential(username, password)


def _host_of(address: str) -> str:
    """Reduce `https://index.docker.io/v1/` and the like to the host, or host and path."""
    bare = address.partition("://")[2] or address
    host, _, path = bare.rstrip("/").partition("/")
    host = normalised_host(host)
    if host == DEFAULT_HOST:
        return host
    return host if path in {"", "v1", "v2"} else f"{host}/{path}"
