"""Objects as the agent handles them: who an object is, what Git says about it, what may be shown of it.

A `Manifest` keeps its body to itself: `view` is what diffs, logs and status may use, with every Secret
value replaced by a keyed hash; only the apply path asks for `body`. Live Secrets are redacted the moment
they are read. Equal values have equal hashes within one process, and nothing else can be learned.
"""

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson

from gitops_agent.errors import RenderFailed
from kube_runtime.resource import Json

_SECRET: Final = ("", "Secret")
_MIN_SCRUBBED: Final = 4


@dataclass(frozen=True, slots=True, order=True)
class GroupKind:
    """A kind without its version: two versions of one object are one object."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.group}/{self.kind}" if self.group else self.kind

    @classmethod
    def of(cls, obj: Json) -> "GroupKind":
        """Read it from apiVersion and kind."""
        return cls(obj["apiVersion"].rpartition("/")[0], obj["kind"])


@dataclass(frozen=True, slots=True, order=True)
class ObjectId:
    """Which object of the cluster is meant."""

    group_kind: GroupKind
    namespace: str
    name: str

    def __str__(self) -> str:
        where = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.group_kind} {where}"

    @classmethod
    def of(cls, obj: Json) -> "ObjectId":
        """Read it from an object."""
        metadata = obj["metadata"]
        return cls(GroupKind.of(obj), metadata.get("namespace", ""), metadata["name"])


class Redactor:
    """Replaces Secret values by hashes under a key that is never written down."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    def view(self, obj: Json) -> Json:
        """Return what may be shown: the object itself, or a Secret with hashed values."""
        if not is_secret(obj):
            return obj
        shown = {name: value for name, value in obj.items() if name not in ("data", "stringData")}
        if data := _secret_data(obj):
            shown["data"] = {name: self._hash(value) for name, value in data.items()}
        return shown

    def _hash(self, value: bytes) -> str:
        digest = hmac.new(self._key, value, hashlib.sha256).hexdigest()[:16]
        return f"(secret, {len(value)} bytes, {digest})"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object that Git declares."""

    id: ObjectId
    body: Json = field(repr=False)
    view: Json = field(repr=False)
    source: str
    """The file it came from, for messages."""
    digest: str
    """Of the body; equal digests are equal declarations."""

    @classmethod
    def of(cls, body: Json, *, source: str, redactor: Redactor) -> "Manifest":
        """Take in a complete object; a Secret's stringData is merged into data."""
        body = _with_plain_data(body, source)
        return cls(
            id=ObjectId.of(body),
            body=body,
            view=redactor.view(body),
            source=source,
            digest=hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest(),
        )

    def scrub(self, text: str) -> str:
        """Take this object's secret values, plain and base64, out of a text from elsewhere."""
        if not is_secret(self.body):
            return text
        for value in _secret_data(self.body).values():
            for form in (value.decode(errors="replace"), base64.b64encode(value).decode()):
                if len(form) >= _MIN_SCRUBBED:
                    text = text.replace(form, "***")
        return text


def is_secret(obj: Json) -> bool:
    """Whether it is a core Secret."""
    return obj.get("kind") == _SECRET[1] and obj.get("apiVersion") == "v1"


def by_id(manifests: Iterable[Manifest]) -> Mapping[ObjectId, Manifest]:
    """Index manifests by the object they mean."""
    return {manifest.id: manifest for manifest in manifests}


def _with_plain_data(body: Json, source: str) -> Json:
    if not is_secret(body):
        return body
    merged = {name: value for name, value in body.items() if name not in ("stringData", "data")}
    try:
        data = _secret_data(body)
    except (TypeError, ValueError, AttributeError) as error:
        # Without the value and without `from`: both would show it.
        del error
        raise RenderFailed(
            f"{source}: Secret {body['metadata'].get('name')}: data must be base64 texts, "
            "stringData texts"
        ) from None
    if data:
        merged["data"] = {name: base64.b64encode(value).decode() for name, value in data.items()}
    return merged


def _secret_data(obj: Json) -> dict[str, bytes]:
    plain = {name: _text(value).encode() for name, value in (obj.get("stringData") or {}).items()}
    coded = {name: _decoded(_text(value)) for name, value in (obj.get("data") or {}).items()}
    return coded | plain


def _text(value: object) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError
    return value


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except binascii.Error as error:
        raise ValueError from error
