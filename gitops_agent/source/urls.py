"""Repository URLs: what is accepted, which of them are the same repository, which Secret covers which.

Pure. The index key is looser than the URL (a push hint may name another scheme of the same repository),
the credentials' cover is stricter (a password never goes to another host, port or scheme).
"""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from gitops_agent.errors import InvalidSpec

_SCP_LIKE: Final = re.compile(r"(?P<user>[A-Za-z0-9._-]+)@(?P<host>[A-Za-z0-9.-]+):(?P<path>[^:]+)")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443, "ssh": 22}
_PATH: Final = re.compile(r"/[A-Za-z0-9._~+@%/-]+")
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")


@dataclass(frozen=True, slots=True)
class RepositoryUrl:
    """A checked repository URL, taken apart."""

    scheme: str
    user: str | None
    host: str
    port: int
    path: str

    def __str__(self) -> str:
        user = f"{self.user}@" if self.user else ""
        return f"{self.scheme}://{user}{self.location}{self.path}"

    @property
    def location(self) -> str:
        """Host, and the port where it is not the scheme's own."""
        is_default = self.port == _DEFAULT_PORTS[self.scheme]
        return self.host if is_default else f"{self.host}:{self.port}"

    @property
    def index_key(self) -> str:
        """The same for all spellings of one repository: scheme, user, case and `.git` do not count."""
        return f"{self.location}{self.path.removesuffix('.git')}".lower()

    def covers(self, other: "RepositoryUrl") -> bool:
        """Whether credentials written for this prefix may be shown to the other URL's server."""
        mine = (self.scheme, self.host, self.port)
        if mine != (other.scheme, other.host, other.port):
            return False
        prefix, path = _components(self.path), _components(other.path)
        return path[: len(prefix)] == prefix


def parse(text: str, *, field: str = "spec.source.repoURL") -> RepositoryUrl:
    """Check a repository URL; raises InvalidSpec naming the field, never echoing a password."""
    if not text.isprintable() or " " in text:  # urlsplit would quietly drop a line end
        raise InvalidSpec(f"{field}: holds blanks or control characters")
    if matched := _SCP_LIKE.fullmatch(text):
        text = f"ssh://{matched['user']}@{matched['host']}/{matched['path'].lstrip('/')}"
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise InvalidSpec(f"{field}: not a URL; expected https://HOST/PATH or ssh://") from error
    if parts.scheme not in _DEFAULT_PORTS:
        raise InvalidSpec(f"{field}: expected https://, http:// or ssh://, found {_scheme(text)}")
    if parts.password is not None:
        raise InvalidSpec(f"{field}: holds a password; put it into a repository Secret instead")
    if parts.query or parts.fragment:
        raise InvalidSpec(f"{field}: must have no query and no fragment")
    if not _HOST.fullmatch(parts.netloc.rpartition("@")[2].removesuffix(f":{port}")):
        raise InvalidSpec(f"{field}: expected a host name, found none that is valid")
    return RepositoryUrl(
        scheme=parts.scheme,
        user=_user(parts.username, scheme=parts.scheme, field=field),
        host=(parts.hostname or "").lower(),
        port=port or _DEFAULT_PORTS[parts.scheme],
        path=_path(parts.path, field=field),
    )


def _path(path: str, *, field: str) -> str:
    path = path.rstrip("/")
    if not _PATH.fullmatch(path) or ".." in path.split("/") or "/-" in path:
        raise InvalidSpec(f"{field}: expected a repository path after the host, found {path!r}")
    return re.sub(r"/+", "/", path)


def _user(user: str | None, *, scheme: str, field: str) -> str | None:
    if user and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]*", user):
        raise InvalidSpec(f"{field}: the user name has characters that are not allowed")
    return user if scheme == "ssh" else None  # over HTTP the user comes from the Secret


def _scheme(text: str) -> str:
    head, found, _ = text.partition("://")
    return f"{head}://" if found else "no scheme"


def _components(path: str) -> list[str]:
    return [part for part in path.removesuffix(".git").split("/") if part]
