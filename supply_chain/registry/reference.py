"""Image references as the container runtimes read them.

Two readers that disagree about a name are a bypass, so the rules are those of the runtimes:
no host means Docker Hub, one segment there means `library/`, no tag and no digest means `latest`.
"""

import re
from dataclasses import dataclass
from typing import Final, NewType

from supply_chain.errors import InvalidReference

Digest = NewType("Digest", str)
"""`sha256:` and 64 lower-case hex digits; nothing else is a digest here."""

MAX_REFERENCE_LENGTH: Final = 512
DEFAULT_HOST: Final = "docker.io"
_HUB_NAMES: Final = frozenset(
    {"index.docker.io", "registry-1.docker.io", "registry.hub.docker.com", DEFAULT_HOST}
)
_PORT: Final = re.compile(r":0*([0-9]+)\Z")
_HTTPS_PORT: Final = ":443"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_SEGMENT = re.compile(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*")
_HOST = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*|\[[0-9a-fA-F:.]+\])(?::[0-9]{1,5})?"
)


@dataclass(frozen=True, slots=True)
class ImageReference:
    """A parsed reference; `host` and `repository` are normalised, `written` is the user's text."""

    written: str
    host: str
    repository: str
    tag: str | None
    digest: Digest | None

    @property
    def name(self) -> str:
        """What policies match: `host/repository`."""
        return f"{self.host}/{self.repository}"

    def pinned(self, digest: Digest) -> str:
        """Return the reference with the digest in place of the tag.

        Some runtimes refuse a tag together with a digest, so the tag goes.
        """
        return f"{self._written_name()}@{digest}"

    def _written_name(self) -> str:
        name = self.written.partition("@")[0]
        return name.removesuffix(f":{self.tag}") if self.tag and self._has_written_tag() else name

    def _has_written_tag(self) -> bool:
        return ":" in self.written.partition("@")[0].rpartition("/")[2]


def parse_reference(text: str) -> ImageReference:
    """Parse what stands in a container's `image`; raises InvalidReference."""
    if not 0 < len(text) <= MAX_REFERENCE_LENGTH:
        raise _invalid(text, f"1 to {MAX_REFERENCE_LENGTH} characters")
    name, at, digest = text.partition("@")
    if at and not _DIGEST.fullmatch(digest):
        raise _invalid(text, "a digest of the form sha256:<64 hex digits>")
    name, tag = _split_tag(name)
    if tag is not None and not _TAG.fullmatch(tag):
        raise _invalid(text, "a tag of at most 128 letters, digits, dots, dashes, underscores")
    host, repository = _split_host(name)
    if not _HOST.fullmatch(host):
        raise _invalid(text, "a host name, with a port if need be, before the first slash")
    if not all(_SEGMENT.fullmatch(segment) for segment in repository.split("/")):
        raise _invalid(text, "a repository in lower case")
    return ImageReference(
        written=text,
        host=host,
        repository=repository,
        tag=tag if tag or at else "latest",
        digest=Digest(digest) if at else None,
    )


def parse_digest(text: object) -> Digest | None:
    """Return the text as a digest, or None if it is none."""
    return Digest(text) if isinstance(text, str) and _DIGEST.fullmatch(text) else None


def normalised_host(host: str) -> str:
    """Return the one name of a registry that has several.

    Otherwise a policy for `docker.io/**` would be passed by by writing `docker.io:443/…`, and one for
    `registry.test:5000/**` by `registry.test:05000/…`, which dials the same port.
    """
    host = _PORT.sub(r":\1", host.lower()).removesuffix(_HTTPS_PORT)
    return DEFAULT_HOST if host in _HUB_NAMES else host


def _split_tag(name: str) -> tuple[str, str | None]:
    last = name.rpartition("/")[2]
    if ":" not in last:
        return name, None
    bare, _, tag = name.rpartition(":")
    return bare, tag


def _split_host(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    looks_like_host = "." in first or ":" in first or first == "localhost" or first.lower() != first
    if not slash or not looks_like_host:
        first, rest = DEFAULT_HOST, name
    first = normalised_host(first)
    if first == DEFAULT_HOST and "/" not in rest:
        rest = f"library/{rest}"
    return first, rest


def _invalid(text: str, expected: str) -> InvalidReference:
    shown = text if len(text) <= 80 else text[:77] + "..."
    return InvalidReference(f"{shown!r} is not an image reference: expected {expected}")
