"""AdmissionReview, read and answered: the wire format and nothing else."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from kube_runtime.resource import Json
from supply_chain.errors import SupplyChainError

_API_VERSION: Final = "admission.k8s.io/v1"
_MAX_MESSAGE: Final = 4096
_OPERATIONS: Final = frozenset({"CREATE", "UPDATE", "DELETE", "CONNECT"})


class BadReview(SupplyChainError):  # noqa: N818 - named as what happened
    """A request that is no AdmissionReview; there is no uid to answer to."""

    reason = "BadReview"


@dataclass(frozen=True, slots=True)
class Review:
    """What the API server asks."""

    uid: str
    operation: str
    kind: str
    subresource: str
    namespace: str
    name: str
    obj: Json
    old: Json | None

    @property
    def is_relevant(self) -> bool:
        """Tell whether images can come in by it: never by a delete, a scale or a status."""
        return self.operation in {"CREATE", "UPDATE"} and self.subresource in {
            "",
            "ephemeralcontainers",
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """What we say: allowed or not, why not, and what to change."""

    is_allowed: bool
    message: str = ""
    patch: Sequence[Json] = ()


def parse_review(raw: bytes) -> Review:
    """Read a request; raises BadReview."""
    try:
        document = orjson.loads(raw)
        request: dict[str, Any] = document["request"]
        return Review(
            uid=_text(request["uid"]),
            operation=_operation(request["operation"]),
            kind=_text(request["kind"]["kind"]),
            subresource=_text(request.get("subResource") or ""),
            namespace=_text(request.get("namespace") or ""),
            name=_text(request.get("name") or ""),
            obj=_object(request.get("object") or {}),
            old=_object(request["oldObject"]) if request.get("oldObject") else None,
        )
    except (ValueError, KeyError, TypeError) as error:
        raise BadReview(
            f"expected an AdmissionReview of {_API_VERSION} with a request, found none: {error!r}"
        ) from error


def render(uid: str, answer: Answer) -> bytes:
    """Write the response."""
    response: Json = {"uid": uid, "allowed": answer.is_allowed}
    if not answer.is_allowed:
        message = answer.message[:_MAX_MESSAGE]
        response["status"] = {"code": 403, "reason": "Forbidden", "message": message}
    elif answer.patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = base64.b64encode(orjson.dumps(list(answer.patch))).decode()
    return orjson.dumps(
        {"apiVersion": _API_VERSION, "kind": "AdmissionReview", "response": response}
    )


def _operation(value: object) -> str:
    """Everybody can post here, and the operation becomes a label of a metric."""
    if value not in _OPERATIONS:
        raise ValueError("expected one of the four operations")
    return str(value)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, found {type(value).__name__}")
    return value


def _object(value: object) -> Json:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, found {type(value).__name__}")
    return value
