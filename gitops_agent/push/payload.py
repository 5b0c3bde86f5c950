"""What a push webhook says: who sent it, whether it is signed, which repository it means; pure.

The signature is checked over the raw bytes, in constant time, before anything is parsed. Of the payload
only the repository's URLs are used, and only to look up Applications that exist: nothing is fetched from
an address that a payload names.
"""

import hashlib
import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import orjson

from gitops_agent.errors import GitOpsError
from gitops_agent.source.urls import parse

_GITEA_SIGNATURE: Final = ("X-Gitea-Signature", "X-Forgejo-Signature", "X-Gogs-Signature")
_GITHUB_SIGNATURE: Final = "X-Hub-Signature-256"
_GITLAB_TOKEN: Final = "X-Gitlab-Token"  # noqa: S105 - a header's name
_URL_FIELDS: Final = (
    "clone_url",
    "ssh_url",
    "html_url",
    "git_url",
    "git_http_url",
    "git_ssh_url",
    "url",
    "homepage",
)
_PUSHES: Final = ("push", "create", "delete", "push hook", "tag push hook")
_DELIVERY: Final = (
    "X-GitHub-Delivery",
    "X-Gitea-Delivery",
    "X-Gogs-Delivery",
    "X-Gitlab-Event-UUID",
)


class Sender(Enum):
    """Who sends."""

    GITHUB = "github"
    GITLAB = "gitlab"
    GITEA = "gitea"
    UNKNOWN = "unknown"


class Malformed(GitOpsError):  # noqa: N818 - named as what happened
    """A signed payload that is no push."""

    reason = "MalformedPayload"


@dataclass(frozen=True, slots=True)
class Push:
    """The repositories that a payload means, as index keys, and the id of its delivery."""

    index_keys: frozenset[str]
    delivery: str


def sender_of(headers: Mapping[str, str]) -> Sender:
    """Tell the sender; Gitea first, as it sends GitHub's headers too."""
    if any(name in headers for name in _GITEA_SIGNATURE):
        return Sender.GITEA
    if _GITHUB_SIGNATURE in headers or "X-GitHub-Event" in headers:
        return Sender.GITHUB
    return Sender.GITLAB if _GITLAB_TOKEN in headers else Sender.UNKNOWN


def is_signed(headers: Mapping[str, str], body: bytes, secret: bytes) -> bool:
    """Whether the body was signed with the secret; without a secret nothing is."""
    if not secret:
        return False
    expected = hmac.new(secret, body, hashlib.sha256).hexdigest()
    sender = sender_of(headers)
    if sender is Sender.GITEA:
        found = next(headers[name] for name in _GITEA_SIGNATURE if name in headers)
        return _is_equal(found.lower(), expected)
    if sender is Sender.GITHUB:
        return _is_equal(headers.get(_GITHUB_SIGNATURE, ""), f"sha256={expected}")
    if sender is Sender.GITLAB:
        return hmac.compare_digest(headers[_GITLAB_TOKEN].encode(errors="replace"), secret)
    return False


def read_push(headers: Mapping[str, str], body: bytes) -> Push | None:
    """Read a payload whose signature was good; None for an event that is no push."""
    event = _first(headers, ("X-Gitea-Event", "X-Gogs-Event", "X-GitHub-Event", "X-Gitlab-Event"))
    if event.lower() not in _PUSHES:
        return None
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Malformed("expected a JSON body") from error
    if not isinstance(payload, dict):
        raise Malformed("expected a JSON object")
    keys = frozenset(_index_keys(payload))
    if not keys:
        raise Malformed("expected a repository with a URL")
    return Push(keys, _first(headers, _DELIVERY)[:128])


def _index_keys(payload: Mapping[str, Any]) -> Iterator[str]:
    for part in ("repository", "project"):
        repository = payload.get(part)
        if not isinstance(repository, dict):
            continue
        for name in _URL_FIELDS:
            value = repository.get(name)
            if isinstance(value, str) and len(value) < 2048:
                try:
                    yield parse(value).index_key
                except GitOpsError:
                    continue  # git:// and the like: another field will do


def _first(headers: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((headers[name] for name in names if name in headers), "")


def _is_equal(found: str, expected: str) -> bool:
    return hmac.compare_digest(found.encode(errors="replace"), expected.encode())
