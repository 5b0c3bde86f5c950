"""What can go wrong between us and the API server, as classes to catch.

Whoever catches one reads `reason` (CamelCase, fit for a condition), `retry_after` (the server's own
wish in seconds; None leaves it to the caller's back-off) and `diagnostics()` (one line for a person).
Nothing of aiohttp, kubernetes.aio or ssl leaves this package: they are wrapped with `from`.
"""

# ruff: noqa: N818 - named as the API names its reasons; `except Gone` reads as what happened

from collections.abc import Mapping
from typing import Final

import orjson

from kube_runtime.resource import Json

_MESSAGE_LIMIT = 1000


class LevelsetError(Exception):
    """The base of every error that Levelset raises on purpose."""

    reason: str = "Error"
    retry_after: float | None = None

    def diagnostics(self) -> str:
        """Say what, where, expected, found and the next step."""
        return str(self)


class KubeError(LevelsetError):
    """The base of what the API client raises."""

    reason = "KubernetesError"


class Unreachable(KubeError):
    """No answer: refused, reset, DNS or TLS; the outcome of a write is not known."""

    reason = "Unreachable"


class RequestTimeout(KubeError):
    """No answer in time; the outcome of a write is not known."""

    reason = "RequestTimeout"


class BadKubeconfig(KubeError):
    """The way to the cluster cannot be read: the message names the file and what it lacks."""

    reason = "BadKubeconfig"


class LostLeadership(KubeError):
    """A write was held back because the lease is no longer ours."""

    reason = "LostLeadership"


class BrokenStream(KubeError):
    """A watch delivered what is no event: half a line, no JSON, or a line without end."""

    reason = "BrokenStream"


class KindNotServed(KubeError):
    """The API server does not serve this kind; a CRD may be missing."""

    reason = "KindNotServed"


class ApiError(KubeError):
    """The API server answered with an error; `details` is the Status's details."""

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        details: Json | None = None,
        *,
        retry_after: float | None = None,
        request: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.message = message
        self.details = details or {}
        self.retry_after = retry_after
        self.request = request
        self.in_stream = False
        """Came as an ERROR event of a watch, not as the answer to a request."""

    def __str__(self) -> str:
        return f"{self.status} {self.reason}: {self.message}"

    def diagnostics(self) -> str:
        """Say which request was answered with what."""
        return f"{self.request}: {self}" if self.request else str(self)


class BadRequest(ApiError):
    """400: the request itself is wrong."""


class Unauthorized(ApiError):
    """401: the credentials were not accepted, also after they were read again."""


class Forbidden(ApiError):
    """403: RBAC, admission or quota says no."""


class NotFound(ApiError):
    """404: the object, or the whole kind, is not there."""


class Conflict(ApiError):
    """409: somebody wrote in between, or another field manager owns the field."""


class AlreadyExists(ApiError):
    """409: an object of that name is there."""


class Gone(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""


class Invalid(ApiError):
    """422: the object does not pass validation."""


class TooManyRequests(ApiError):
    """429: the server did not act, and says when to come back."""


class ServerError(ApiError):
    """5xx: the server failed; the outcome of a write is not known."""


_BY_STATUS: Final[Mapping[int, type[ApiError]]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}
_DEFAULT_REASONS: Final[Mapping[int, str]] = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Gone",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def error_from_response(
    status: int, body: bytes, *, retry_after: str | None = None, request: str = ""
) -> ApiError:
    """Turn an answer with an error code into the class to raise; any body will do."""
    return error_from_status(
        _status_object(status, body),
        code=status,
        retry_after=_seconds(retry_after),
        request=request,
    )


def error_from_status(
    status: Json, *, code: int | None = None, retry_after: float | None = None, request: str = ""
) -> ApiError:
    """Turn a Status object, of an answer or of a watch's ERROR event, into the class to raise."""
    found = code if code is not None else _as_int(status.get("code"), default=500)
    reason = str(status.get("reason") or _DEFAULT_REASONS.get(found, "Unknown"))
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    return _class_for(found, reason)(
        found,
        reason,
        str(status.get("message") or "the server gave no message")[:_MESSAGE_LIMIT],
        details,
        retry_after=retry_after if retry_after is not None else _wish(details),
        request=request,
    )


def _class_for(status: int, reason: str) -> type[ApiError]:
    if reason == "AlreadyExists":
        return AlreadyExists
    if reason == "Expired":  # in an ERROR event, the code may be missing
        return Gone
    return _BY_STATUS.get(status, ServerError if status >= 500 else ApiError)


def _status_object(status: int, body: bytes) -> Json:
    """Read a Status; a proxy's HTML or plain text becomes the message of one."""
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError:
        parsed = None
    if isinstance(parsed, dict) and parsed.get("kind") == "Status":
        return parsed
    text = " ".join(body[:_MESSAGE_LIMIT].decode("utf-8", "replace").split())
    return {"code": status, "message": text}


def _seconds(header: str | None) -> float | None:
    """Read Retry-After in its form of seconds; the API server sends no other."""
    if header is None or not header.strip().isdecimal():
        return None
    return float(header)


def _wish(details: Json) -> float | None:
    seconds = _as_int(details.get("retryAfterSeconds"), default=0)
    return float(seconds) if seconds > 0 else None


def _as_int(value: object, *, default: int) -> int:
    return value if isinstance(value, int) else default
