"""Is an object doing what it is there for? kstatus for everything, a closer look at the common kinds.

Pure: an object in, a verdict out. An Application is as healthy as its worst object.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from gitops_agent.objects import GroupKind
from kube_runtime.conditions import find_condition, parse_conditions
from kube_runtime.resource import Json, generation_of, is_deleting

_MESSAGE: Final = 300


class HealthStatus(IntEnum):
    """From good to bad, in Argo CD's words and order."""

    Healthy = 0
    Suspended = 1
    Progressing = 2
    Missing = 3
    Degraded = 4
    Unknown = 5


@dataclass(frozen=True, slots=True)
class Health:
    """A verdict, and why."""

    status: HealthStatus
    message: str = ""


HEALTHY: Final = Health(HealthStatus.Healthy)
MISSING: Final = Health(HealthStatus.Missing, "is not in the cluster")


def health_of(obj: Json | None) -> Health:
    """Judge one live object."""
    if obj is None:
        return MISSING
    if is_deleting(obj):
        return _progressing("is being deleted")
    if _is_behind(obj):
        return _progressing("its controller has not seen the newest spec yet")
    judge = _JUDGES.get(GroupKind.of(obj), _by_conditions)
    return judge(obj)


def worst(verdicts: Iterable[Health]) -> Health:
    """Return the worst verdict; nothing at all is healthy."""
    return max(verdicts, key=lambda verdict: verdict.status, default=HEALTHY)


def _is_behind(obj: Json) -> bool:
    observed = _status(obj).get("observedGeneration")
    return isinstance(observed, int) and observed < generation_of(obj)


def _by_conditions(obj: Json) -> Health:
    """Read the kstatus conditions; a kind that has none is healthy by being there."""
    conditions = parse_conditions(_status(obj).get("conditions"))
    stalled, ready = find_condition(conditions, "Stalled"), find_condition(conditions, "Ready")
    reconciling = find_condition(conditions, "Reconciling")
    if stalled is not None and stalled.status == "True":
        return _degraded(f"{stalled.reason}: {stalled.message}")
    if reconciling is not None and reconciling.status == "True":
        return _progressing(reconciling.message)
    if ready is not None and ready.status != "True":
        return _progressing(f"{ready.reason}: {ready.message}")
    return HEALTHY


def _levelset_workload(obj: Json) -> Health:
    status = _status(obj)
    if not isinstance(status.get("observedGeneration"), int):
        return _progressing("its controller has not seen it yet")
    if not status.get("conditions"):
        return _progressing("has no conditions yet")
    return _by_conditions(obj)


def _deployment(obj: Json) -> Health:
    status, wanted = _status(obj), _spec(obj).get("replicas", 1)
    if "observedGeneration" not in status:
        return _progressing("its controller has not seen it yet")
    if _spec(obj).get("paused"):
        return Health(HealthStatus.Suspended, "is paused")
    progress = find_condition(parse_conditions(status.get("conditions")), "Progressing")
    if progress is not None and progress.reason == "ProgressDeadlineExceeded":
        return _degraded(progress.message)
    return _counted(
        wanted, status.get("updatedReplicas", 0), status.get("replicas", 0), _available(status)
    )


def _stateful_set(obj: Json) -> Health:
    status, wanted = _status(obj), _spec(obj).get("replicas", 1)
    if "observedGeneration" not in status:
        return _progressing("its controller has not seen it yet")
    if _spec(obj).get("updateStrategy", {}).get("type") == "OnDelete":
        return _counted(wanted, wanted, wanted, status.get("readyReplicas", 0))
    updated = status.get("updatedReplicas", 0)
    return _counted(wanted, updated, status.get("replicas", 0), status.get("readyReplicas", 0))


def _daemon_set(obj: Json) -> Health:
    status = _status(obj)
    if "observedGeneration" not in status:
        return _progressing("its controller has not seen it yet")
    wanted = status.get("desiredNumberScheduled", 0)
    updated = status.get("updatedNumberScheduled", 0)
    return _counted(wanted, updated, updated, status.get("numberAvailable", 0))


def _counted(wanted: int, updated: int, total: int, available: int) -> Health:
    if updated < wanted:
        return _progressing(f"{updated} of {wanted} replicas are updated")
    if total > updated:
        return _progressing(f"{total - updated} old replicas are still there")
    if available < wanted:
        return _progressing(f"{available} of {wanted} replicas are available")
    return HEALTHY


def _available(status: Json) -> int:
    count: int = status.get("availableReplicas", 0)
    return count


def _pod(obj: Json) -> Health:
    status = _status(obj)
    phase = status.get("phase")
    for container in status.get("containerStatuses") or ():
        waiting = (container.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _POD_FAILURES:
            return _degraded(f"{container.get('name')}: {waiting['reason']}")
    if phase == "Succeeded":
        return HEALTHY
    if phase == "Failed":
        return _degraded(status.get("message") or "failed")
    ready = find_condition(parse_conditions(status.get("conditions")), "Ready")
    is_ready = phase == "Running" and ready is not None and ready.status == "True"
    return HEALTHY if is_ready else _progressing(f"is {phase or 'new'} and not ready")


def _job(obj: Json) -> Health:
    conditions = parse_conditions(_status(obj).get("conditions"))
    for condition in conditions:
        if condition.status == "True" and condition.type == "Failed":
            return _degraded(condition.message)
        if condition.status == "True" and condition.type == "Complete":
            return HEALTHY
    if _spec(obj).get("suspend"):
        return Health(HealthStatus.Suspended, "is suspended")
    return _progressing("is running")


def _service(obj: Json) -> Health:
    if _spec(obj).get("type") != "LoadBalancer":
        return HEALTHY
    ingress = (_status(obj).get("loadBalancer") or {}).get("ingress")
    return HEALTHY if ingress else _progressing("waits for its load balancer")


def _volume_claim(obj: Json) -> Health:
    phase = _status(obj).get("phase")
    if phase == "Lost":
        return _degraded("its volume is lost")
    return HEALTHY if phase == "Bound" else _progressing(f"is {phase or 'new'}")


def _namespace(_obj: Json) -> Health:
    return HEALTHY


def _crd(obj: Json) -> Health:
    conditions = parse_conditions(_status(obj).get("conditions"))
    names = find_condition(conditions, "NamesAccepted")
    if names is not None and names.status == "False":
        return _degraded(names.message)
    established = find_condition(conditions, "Established")
    is_established = established is not None and established.status == "True"
    return HEALTHY if is_established else _progressing("is not established yet")


def _status(obj: Json) -> Json:
    status = obj.get("status")
    return status if isinstance(status, dict) else {}


def _spec(obj: Json) -> Json:
    spec = obj.get("spec")
    return spec if isinstance(spec, dict) else {}


def _progressing(message: str) -> Health:
    return Health(HealthStatus.Progressing, message[:_MESSAGE])


def _degraded(message: str) -> Health:
    return Health(HealthStatus.Degraded, message[:_MESSAGE])


_POD_FAILURES: Final = (
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
)
_JUDGES: Final[Mapping[GroupKind, Callable[[Json], Health]]] = {
    GroupKind("", "Namespace"): _namespace,
    GroupKind("", "PersistentVolumeClaim"): _volume_claim,
    GroupKind("", "Pod"): _pod,
    GroupKind("", "Service"): _service,
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): _crd,
    GroupKind("apps", "DaemonSet"): _daemon_set,
    GroupKind("apps", "Deployment"): _deployment,
    GroupKind("apps", "StatefulSet"): _stateful_set,
    GroupKind("batch", "Job"): _job,
    GroupKind("levelset.dev", "PodSet"): _levelset_workload,
    GroupKind("levelset.dev", "Rollout"): _levelset_workload,
}
