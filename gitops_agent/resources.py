"""The Application as the rest of the agent sees it: raw JSON parsed once into frozen classes.

The CRD has validated what CEL can tell; what it cannot is checked here and raises InvalidSpec with the
field's path. Nothing else in the agent looks into the JSON of our own kind.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from gitops_agent.errors import InvalidSpec
from gitops_agent.names import SYNC_ANNOTATION
from gitops_agent.objects import GroupKind, ObjectId
from gitops_agent.render.directory import DirectoryOptions
from gitops_agent.render.kustomization import KustomizeOptions
from gitops_agent.source.refs import check_revision
from gitops_agent.source.urls import RepositoryUrl, parse
from kube_runtime.conditions import Condition, parse_conditions, parse_time
from kube_runtime.resource import Json, Key, Uid, annotations_of, generation_of, uid_of

_DURATION: Final = re.compile(r"([0-9]{1,6})([smh])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600}
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,63}")


@dataclass(frozen=True, slots=True)
class Automated:
    """spec.syncPolicy.automated."""

    prune: bool = False
    self_heal: bool = False
    allow_empty: bool = False


@dataclass(frozen=True, slots=True)
class Retry:
    """spec.syncPolicy.retry; no limit means for ever."""

    limit: int | None = None
    first_seconds: float = 5.0
    factor: int = 2
    max_seconds: float = 180.0

    def delay_seconds(self, failures: int) -> float:
        """How long to wait after so many failures in a row."""
        return min(
            self.max_seconds, self.first_seconds * float(self.factor) ** min(failures - 1, 30)
        )


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """What the sync annotation asks for."""

    id: str
    revision: str | None = None
    prune: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """spec.source."""

    url: RepositoryUrl
    target_revision: str
    path: str
    directory: DirectoryOptions | None
    kustomize: KustomizeOptions | None

    def digest(self) -> str:
        """The same for the same source, whatever the commit."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Spec:
    """What the user declared."""

    source: Source
    namespace: str
    automated: Automated | None
    retry: Retry
    creates_namespace: bool
    may_prune: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """status.operationState."""

    id: str = ""
    phase: str = ""
    message: str = ""
    revision: str = ""
    attempt: str = ""
    retry_count: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    forced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InventoryEntry:
    """An object that we have put, or are about to put, into the cluster."""

    id: ObjectId
    version: str
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Application:
    """One Application: who it is, what it last reported, and its spec, still to be parsed."""

    key: Key
    uid: Uid
    generation: int
    raw: Json = field(repr=False)
    inventory: tuple[InventoryEntry, ...] = ()
    cluster_uid: str = ""
    operation: Operation = field(default_factory=Operation)
    conditions: Sequence[Condition] = ()

    @classmethod
    def of(cls, raw: Json) -> "Application":
        """Read everything but the spec; never fails on what the API server has let pass."""
        status = raw.get("status") or {}
        inventory = status.get("inventory") or {}
        return cls(
            key=Key.of(raw),
            uid=uid_of(raw),
            generation=generation_of(raw),
            raw=raw,
            inventory=tuple(_entry(entry) for entry in inventory.get("entries") or ()),
            cluster_uid=inventory.get("clusterUID", ""),
            operation=_operation(status.get("operationState") or {}),
            conditions=parse_conditions(status.get("conditions")),
        )

    @property
    def status(self) -> Json:
        """The status as it was last written."""
        status: Json = self.raw.get("status") or {}
        return status

    @property
    def synced_revision(self) -> str:
        """The commit of the last comparison; empty before the first."""
        revision: str = (self.status.get("sync") or {}).get("revision", "")
        return revision

    def spec(self) -> Spec:
        """Parse the spec; raises InvalidSpec with the field's path."""
        return parse_spec(self.raw["spec"])

    def request(self) -> SyncRequest | None:
        """Return the sync that was asked for and has not been answered; raises InvalidSpec."""
        text = annotations_of(self.raw).get(SYNC_ANNOTATION, "").strip()
        if not text:
            return None
        request = _request(text)
        answered = self.operation.id == request.id and self.operation.phase != "Running"
        return None if answered else request


def parse_spec(raw: Json) -> Spec:
    """Read a spec; raises InvalidSpec with the field's path."""
    policy = raw.get("syncPolicy") or {}
    options = policy.get("syncOptions") or []
    return Spec(
        source=_source(raw["source"]),
        namespace=raw["destination"]["namespace"],
        automated=_automated(policy.get("automated")),
        retry=_retry(policy.get("retry") or {}),
        creates_namespace="CreateNamespace=true" in options,
        may_prune="Prune=false" not in options,
    )


def _source(raw: Json) -> Source:
    directory, kustomize = raw.get("directory"), raw.get("kustomize")
    return Source(
        url=parse(raw["repoURL"]),
        target_revision=check_revision(raw.get("targetRevision") or "HEAD"),
        path=raw.get("path") or ".",
        directory=None if directory is None else _directory(directory),
        kustomize=None if kustomize is None else _kustomize(kustomize),
    )


def _directory(raw: Json) -> DirectoryOptions:
    return DirectoryOptions(
        recurse=raw.get("recurse", False),
        include=raw.get("include", ""),
        exclude=raw.get("exclude", ""),
    )


def _kustomize(raw: Json) -> KustomizeOptions:
    return KustomizeOptions(
        name_prefix=raw.get("namePrefix", ""),
        name_suffix=raw.get("nameSuffix", ""),
        namespace=raw.get("namespace", ""),
        images=tuple(raw.get("images") or ()),
        common_labels=_pairs(raw.get("commonLabels")),
        common_annotations=_pairs(raw.get("commonAnnotations")),
        replicas=tuple((item["name"], item["count"]) for item in raw.get("replicas") or ()),
    )


def _pairs(raw: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((raw or {}).items()))


def _automated(raw: Json | None) -> Automated | None:
    if raw is None or raw.get("enabled") is False:
        return None
    return Automated(
        prune=raw.get("prune", False),
        self_heal=raw.get("selfHeal", False),
        allow_empty=raw.get("allowEmpty", False),
    )


def _retry(raw: Json) -> Retry:
    backoff = raw.get("backoff") or {}
    return Retry(
        limit=raw.get("limit"),
        first_seconds=_seconds(backoff.get("duration", "5s"), "duration"),
        factor=backoff.get("factor", 2),
        max_seconds=_seconds(backoff.get("maxDuration", "3m"), "maxDuration"),
    )


def _seconds(text: str, name: str) -> float:
    seconds = sum(int(count) * _SECONDS[unit] for count, unit in _DURATION.findall(text))
    if seconds <= 0:
        raise InvalidSpec(
            f"spec.syncPolicy.retry.backoff.{name}: expected more than 0, as 30s or 5m"
        )
    return float(seconds)


def _request(text: str) -> SyncRequest:
    raw = _json(text) if text.startswith("{") else {"id": text}
    request_id, revision = raw.get("id"), raw.get("revision")
    if not isinstance(request_id, str) or not _REQUEST_ID.fullmatch(request_id):
        raise InvalidSpec(
            f"metadata.annotations[{SYNC_ANNOTATION}]: expected an id of up to 63 characters, or "
            'JSON as {"id": "…", "revision": "…", "prune": true}'
        )
    revision = check_revision(revision) if isinstance(revision, str) and revision else None
    return SyncRequest(request_id, revision, raw.get("prune") is True)


def _json(text: str) -> Mapping[str, Any]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def _operation(raw: Json) -> Operation:
    return Operation(
        id=raw.get("id", ""),
        phase=raw.get("phase", ""),
        message=raw.get("message", ""),
        revision=raw.get("revision", ""),
        attempt=raw.get("attempt", ""),
        retry_count=raw.get("retryCount", 0),
        started_at=parse_time(raw.get("startedAt")),
        finished_at=parse_time(raw.get("finishedAt")),
        forced=tuple(raw.get("forced") or ()),
    )


def _entry(raw: Json) -> InventoryEntry:
    kind = GroupKind(raw.get("group", ""), raw["kind"])
    return InventoryEntry(
        id=ObjectId(kind, raw.get("namespace", ""), raw["name"]),
        version=raw.get("version", "v1"),
        uid=raw.get("uid", ""),
    )
