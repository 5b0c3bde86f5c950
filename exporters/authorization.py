"""Who may scrape: a TokenReview, then a SubjectAccessReview for GET on /metrics.

Fails closed: no token, no page; an API server that cannot be asked is a 503. But whoever was
allowed a short while ago stays allowed while it cannot be asked: that is when metrics are needed.
Tokens are kept as SHA-256 only, and never logged.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.errors import KubeError
from kube_runtime.logs import fields
from kube_runtime.ratelimit import TokenBucket
from kube_runtime.resource import SUBJECT_ACCESS_REVIEWS, TOKEN_REVIEWS, Json, Resource

Verdict: TypeAlias = Literal["allowed", "denied", "unauthenticated", "error", "outage_allowed"]

ALLOW_SECONDS: Final = 300.0
DENY_SECONDS: Final = 30.0
OUTAGE_SECONDS: Final = 900.0
"""How long after its end a remembered yes still counts while the API server cannot be asked."""

_REVIEW_TIMEOUT_SECONDS: Final = 10.0
_MAX_TOKEN: Final = 16 * 1024
_MAX_REMEMBERED: Final = 1024
_REVIEWS_PER_SECOND: Final = 10.0
_REVIEWS_BURST: Final = 20
_LOG: Final = logging.getLogger(__name__)


class Reviewer(Protocol):
    """The part of the API client that is needed here."""

    async def create(self, resource: Resource, body: Json) -> Json:
        """Create a review and return it answered."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    verdict: Verdict
    fresh_until: float


class ScrapeAuthorization:
    """Decides on the Authorization header of a scrape and remembers the decisions."""

    def __init__(
        self,
        api: Reviewer,
        *,
        path: str = "/metrics",
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api = api
        self._path = path
        self._clock = clock
        self._remembered: dict[bytes, _Remembered] = {}
        self._running: dict[bytes, asyncio.Task[Verdict]] = {}
        # The client's own limit is shared with the controllers: a flood of forged tokens must not
        # eat up what they write with.
        self._limit = TokenBucket(_REVIEWS_PER_SECOND, _REVIEWS_BURST, clock=clock)

    async def verdict(self, authorization: str) -> Verdict:
        """Decide; asks the API server at most once for the same token at the same time."""
        token = _bearer_token(authorization)
        if token is None:
            return "unauthenticated"
        digest = hashlib.sha256(token.encode()).digest()
        known = self._remembered.get(digest)
        if known is not None and self._clock.monotonic() < known.fresh_until:
            return known.verdict
        return await self._reviewed_once(digest, token)

    async def _reviewed_once(self, digest: bytes, token: str) -> Verdict:
        task = self._running.get(digest)
        if task is None:
            task = self._running[digest] = asyncio.create_task(self._reviewed(digest, token))
            task.add_done_callback(lambda _: self._running.pop(digest, None))
        return await asyncio.shield(task)  # a scraper that hangs up must not fail the others

    async def _reviewed(self, digest: bytes, token: str) -> Verdict:
        try:
            async with asyncio.timeout(_REVIEW_TIMEOUT_SECONDS):
                await self._limit.take()
                verdict = await self._review(token)
        except (KubeError, TimeoutError) as error:
            return self._without_answer(digest, error)
        self._remember(digest, verdict)
        return verdict

    async def _review(self, token: str) -> Verdict:
        answer = await self._api.create(TOKEN_REVIEWS, _token_review(token))
        status = answer.get("status") or {}
        if status.get("authenticated") is not True:
            return "unauthenticated"
        review = _access_review(status.get("user") or {}, self._path)
        answer = await self._api.create(SUBJECT_ACCESS_REVIEWS, review)
        return "allowed" if (answer.get("status") or {}).get("allowed") is True else "denied"

    def _without_answer(self, digest: bytes, error: Exception) -> Verdict:
        known = self._remembered.get(digest)
        _LOG.warning("scrape could not be reviewed", extra=fields(error=type(error).__name__))
        if known is None or known.verdict != "allowed":
            return "error"
        is_within_grace = self._clock.monotonic() < known.fresh_until + OUTAGE_SECONDS
        return "outage_allowed" if is_within_grace else "error"

    def _remember(self, digest: bytes, verdict: Verdict) -> None:
        if len(self._remembered) >= _MAX_REMEMBERED:
            self._forget_some()
        seconds = ALLOW_SECONDS if verdict == "allowed" else DENY_SECONDS
        self._remembered[digest] = _Remembered(verdict, self._clock.monotonic() + seconds)

    def _forget_some(self) -> None:
        """Make room: refusals first, so that a stranger's tokens cannot push a scraper out."""
        refused = [d for d, known in self._remembered.items() if known.verdict != "allowed"]
        for digest in refused or list(self._remembered)[:1]:
            del self._remembered[digest]


def _bearer_token(authorization: str) -> str | None:
    scheme, _, token = authorization.partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token.isascii() or not 0 < len(token) <= _MAX_TOKEN:
        return None
    return token


def _token_review(token: str) -> Json:
    return {
        "apiVersion": TOKEN_REVIEWS.api_version,
        "kind": TOKEN_REVIEWS.kind,
        "spec": {"token": token},
    }


def _access_review(user: Json, path: str) -> Json:
    return {
        "apiVersion": SUBJECT_ACCESS_REVIEWS.api_version,
        "kind": SUBJECT_ACCESS_REVIEWS.kind,
        "spec": {
            "user": user.get("username", ""),
            "uid": user.get("uid", ""),
            "groups": user.get("groups") or [],
            "extra": user.get("extra") or {},
            "nonResourceAttributes": {"path": path, "verb": "get"},
        },
    }
