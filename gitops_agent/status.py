"""What an Application reports: one pure function from what was found to the JSON of its status.

The same findings give the same bytes, so that a reconcile that finds nothing new writes nothing.
Ready, Reconciling and Stalled are kstatus's; the others exist only while they are true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from gitops_agent.diff.compare import ObjectDiff
from gitops_agent.health import Health, HealthStatus
from gitops_agent.objects import ObjectId
from gitops_agent.resources import Application, InventoryEntry, Operation
from kube_runtime.conditions import (
    Condition,
    Verdict,
    format_time,
    kstatus,
    remove_condition,
    set_condition,
)
from kube_runtime.resource import Json

SyncStatus = Literal["Synced", "OutOfSync", "Unknown"]

ABNORMAL: Final = (
    "ComparisonError",
    "SyncError",
    "PruneHeld",
    "DiffNotConverging",
)
_MESSAGE: Final = 1024


@dataclass(frozen=True, slots=True)
class ResourceReport:
    """One object of the Application."""

    id: ObjectId
    version: str
    sync: SyncStatus
    health: Health
    diff: ObjectDiff | None = None
    requires_pruning: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """What a reconcile found."""

    sync: SyncStatus
    revision: str
    health: Health
    operation: Operation
    resources: Sequence[ResourceReport] | None
    """None: not looked at, so what was reported before stays."""
    inventory: Sequence[InventoryEntry]
    cluster_uid: str
    abnormal: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Condition type to reason and message."""
    is_stalled: bool = False
    """Whether only an edit, of the spec or in Git, can help."""


def status_json(application: Application, report: Report, now: datetime) -> Json:
    """Write the whole status."""
    status: Json = {
        "observedGeneration": application.generation,
        "sync": _without_empty({"status": report.sync, "revision": report.revision}),
        "health": _without_empty(
            {"status": report.health.status.name, "message": report.health.message}
        ),
        "operationState": _operation(report.operation),
        "resources": application.status.get("resources") or []
        if report.resources is None
        else [_resource(resource) for resource in report.resources],
        "inventory": {
            "clusterUID": report.cluster_uid,
            "entries": [_entry(entry) for entry in report.inventory],
        },
        "conditions": [c.to_json() for c in _conditions(application, report, now)],
    }
    return {name: value for name, value in status.items() if value not in ({}, [])}


def _conditions(application: Application, report: Report, now: datetime) -> list[Condition]:
    conditions = list(application.conditions)
    for kind in ABNORMAL:
        if kind not in report.abnormal:
            conditions = remove_condition(conditions, kind)
            continue
        reason, message = report.abnormal[kind]
        condition = Condition(kind, "True", reason, message[:_MESSAGE], application.generation)
        conditions = set_condition(conditions, condition, now)
    ready = _ready(report)
    is_waiting = ready.status != "True" and not report.is_stalled
    reconciling = Verdict("True", ready.reason, ready.message) if is_waiting else None
    stalled = Verdict("True", ready.reason, ready.message) if report.is_stalled else None
    return kstatus(
        conditions,
        now,
        generation=application.generation,
        ready=ready,
        reconciling=reconciling,
        stalled=stalled,
    )


def _ready(report: Report) -> Verdict:
    """Say in one condition whether all is well, or the first thing that is not."""
    for kind in ABNORMAL:
        if kind in report.abnormal and kind != "PruneHeld":
            reason, message = report.abnormal[kind]
            return Verdict("False", reason, message[:_MESSAGE])
    if report.sync != "Synced":
        changed = [str(found.id) for found in report.resources or () if found.sync != "Synced"]
        return Verdict("False", report.sync, f"differs from Git: {_some(changed)}")
    if report.health.status is not HealthStatus.Healthy:
        return Verdict("False", report.health.status.name, report.health.message)
    return Verdict("True", "Synced", f"level with {report.revision}")


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown


def _operation(operation: Operation) -> Json:
    return _without_empty(
        {
            "id": operation.id,
            "phase": operation.phase,
            "message": operation.message[:_MESSAGE],
            "revision": operation.revision,
            "attempt": operation.attempt,
            "retryCount": operation.retry_count,
            "startedAt": format_time(operation.started_at) if operation.started_at else "",
            "finishedAt": format_time(operation.finished_at) if operation.finished_at else "",
            "forced": list(operation.forced),
        }
    )


def _resource(resource: ResourceReport) -> Json:
    return _identity(resource.id, resource.version) | _without_empty(
        {
            "status": resource.sync,
            "health": resource.health.status.name,
            "message": resource.health.message,
            "requiresPruning": resource.requires_pruning,
            "changed": list(resource.diff.paths) if resource.diff else [],
        }
    )


def _entry(entry: InventoryEntry) -> Json:
    return _identity(entry.id, entry.version) | _without_empty({"uid": entry.uid})


def _identity(object_id: ObjectId, version: str) -> Json:
    kind = object_id.group_kind
    return _without_empty(
        {
            "group": kind.group,
            "version": version,
            "kind": kind.kind,
            "namespace": object_id.namespace,
            "name": object_id.name,
        }
    )


def _without_empty(raw: Json) -> Json:
    return {name: value for name, value in raw.items() if value not in ("", [], False, None)}
