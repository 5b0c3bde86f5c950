"""From a World to the report that becomes the status; pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_agent.errors import GitOpsError
from gitops_agent.health import MISSING, Health, HealthStatus, health_of, worst
from gitops_agent.objects import ObjectId
from gitops_agent.resources import Application, InventoryEntry, Operation
from gitops_agent.status import Report, ResourceReport, SyncStatus
from gitops_agent.sync.convergence import Fight
from gitops_agent.sync.prune import PrunePlan
from gitops_agent.world import World
from kube_runtime.errors import LevelsetError

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Findings:
    """What a reconcile knows when it has done what it could."""

    world: World = field(repr=False)
    plan: PrunePlan
    operation: Operation
    problem: LevelsetError | None = None
    """Why the sync of this reconcile failed."""
    fights: Mapping[ObjectId, Fight] = field(default_factory=dict)


def report_of(findings: Findings) -> Report:
    """Say how the Application stands."""
    world = findings.world
    resources = [*_declared(world), *_extraneous(findings)]
    is_level = all(resource.sync == "Synced" for resource in resources)
    return Report(
        sync="Synced" if is_level else "OutOfSync",
        revision=world.commit,
        health=_overall(resources),
        operation=findings.operation,
        resources=resources,
        inventory=findings.plan.entries,
        cluster_uid=world.cluster_uid,
        abnormal=_abnormal(findings),
    )


def failure_report(application: Application, error: LevelsetError, operation: Operation) -> Report:
    """Say that no comparison could be made; what was known is kept, nothing is concluded."""
    status = application.status
    health = (status.get("health") or {}).get("status", "Unknown")
    return Report(
        sync="Unknown",
        revision=application.synced_revision,
        health=Health(HealthStatus[health]),
        operation=operation,
        resources=None,
        inventory=application.inventory,
        cluster_uid=application.cluster_uid,
        abnormal={"ComparisonError": (error.reason, error.diagnostics())},
        is_stalled=isinstance(error, GitOpsError) and error.retry_after is None,
    )


def _declared(world: World) -> list[ResourceReport]:
    reports = []
    for target in world.targets:
        live, diff = world.live.get(target.id), world.diffs[target.id]
        sync: SyncStatus = "OutOfSync" if diff else "Synced"
        version = target.manifest.body["apiVersion"].rpartition("/")[2]
        health = health_of(live) if live is not None else MISSING
        reports.append(ResourceReport(target.id, version, sync, health, diff))
    return sorted(reports, key=lambda report: report.id)


def _extraneous(findings: Findings) -> list[ResourceReport]:
    entries: dict[ObjectId, InventoryEntry] = {e.id: e for e in findings.plan.entries}
    return [
        ResourceReport(
            object_id,
            entries[object_id].version,
            "OutOfSync",
            health_of(findings.world.live.get(object_id)),
            requires_pruning=True,
        )
        for object_id in findings.plan.extraneous
    ]


def _overall(resources: list[ResourceReport]) -> Health:
    """The worst health, and whose it is."""
    declared = [resource for resource in resources if not resource.requires_pruning]
    overall = worst(resource.health for resource in declared)
    if overall.status is HealthStatus.Healthy:
        return overall
    culprit = next(r for r in declared if r.health.status is overall.status)
    return Health(overall.status, f"{culprit.id} {culprit.health.message}")


def _abnormal(findings: Findings) -> dict[str, tuple[str, str]]:
    abnormal = {}
    if (problem := findings.problem) is not None:
        abnormal["SyncError"] = (problem.reason, problem.diagnostics())
    elif findings.operation.phase in ("Failed", "Error"):
        before = [c for c in findings.world.application.conditions if c.type == "SyncError"]
        reason = before[0].reason if before else "SyncFailed"
        abnormal["SyncError"] = (reason, findings.operation.message)
    if findings.plan.held:
        lines = [f"{object_id}: {reason}" for object_id, reason in findings.plan.held]
        abnormal["PruneHeld"] = ("NotProven", _some(lines))
    if findings.fights:
        lines = [_fight(*item) for item in findings.fights.items()]
        abnormal["DiffNotConverging"] = ("AnotherWriter", _some(lines))
    return abnormal


def _fight(object_id: ObjectId, fight: Fight) -> str:
    writers = ", ".join(sorted(fight.writers)) or "unknown"
    if not fight.paths:
        return f"{object_id} keeps disappearing after it was applied"
    return f"{object_id} {', '.join(fight.paths)} keeps coming back; other writers: {writers}"


def _some(lines: list[str]) -> str:
    more = f"; and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return "; ".join(lines[:_SHOWN]) + more
