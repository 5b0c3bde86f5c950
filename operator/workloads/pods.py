"""A pod as the controllers see it: the dozen facts that decisions rest on.

Raw pods are parsed here once; plans and statuses see this class only. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kube_runtime.conditions import parse_time
from kube_runtime.resource import (
    Json,
    OwnerReference,
    Uid,
    annotations_of,
    controller_of,
    is_deleting,
    labels_of,
    uid_of,
)
from workloads import names
from workloads.pod_troubles import Trouble, trouble_of

PENDING: Final = "Pending"
TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
# A pod is not ready from its start on; a later change to "not ready" means that it was in between.
_MOMENT: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod, parsed."""

    name: str
    uid: Uid
    labels: Mapping[str, str]
    controller: OwnerReference | None = None
    node: str = ""
    phase: str = PENDING
    ready_since: datetime | None = None
    """When the pod became ready; None while it is not."""
    created: datetime | None = None
    restarts: int = 0
    """The most restarts of any of its containers."""
    sidecar_restarts: int = 0
    """The most restarts of any of its restartable init containers."""
    all_restarts: int = 0
    """The restarts of all of those together."""
    deletion_cost: int = 0
    is_deleting: bool = False
    ended: datetime | None = None
    """When an ended pod last changed, by its node's clock; only good for comparing such pods."""
    has_been_ready: bool = False
    """Whether an ended pod was ready before."""
    is_disruption_target: bool = False
    """Whether somebody is about to take it away: an eviction, a preemption, a lost node."""
    trouble: Trouble | None = None
    """Why it is not ready, as far as it says so itself."""

    @property
    def age_key(self) -> tuple[datetime, str]:
        """Sort by this to have the oldest first."""
        return self.created or LONG_AGO, self.name

    @property
    def is_ready(self) -> bool:
        """Tell whether the Ready condition is True."""
        return self.ready_since is not None

    @property
    def is_terminal(self) -> bool:
        """Tell whether the pod has ended and will never run again."""
        return self.phase in TERMINAL_PHASES

    @property
    def is_active(self) -> bool:
        """Tell whether the pod counts as a replica: it runs or will."""
        return not self.is_deleting and not self.is_terminal

    @property
    def is_terminating(self) -> bool:
        """Tell whether the pod is on its way out but still holds its resources."""
        return self.is_deleting and not self.is_terminal

    def available_at(self, min_ready_seconds: int) -> datetime | None:
        """Tell when the pod has been ready for long enough; None when it is not ready."""
        if self.ready_since is None:
            return None
        return self.ready_since + timedelta(seconds=min_ready_seconds)

    def is_available(self, min_ready_seconds: int, now: datetime) -> bool:
        """Tell whether the pod has been ready for long enough."""
        if min_ready_seconds == 0:
            return self.is_ready
        moment = self.available_at(min_ready_seconds)
        return moment is not None and now >= moment


def parse_pod(raw: Json) -> Pod:
    """Read a pod; what is missing reads as a pod that was just created."""
    spec: Json = raw.get("spec") or {}
    status: Json = raw.get("status") or {}
    created = parse_time(raw["metadata"].get("creationTimestamp"))
    restarts = _restarts(status.get("containerStatuses"))
    sidecar_restarts = _sidecar_restarts(spec, status)
    ready = _condition(status, "Ready")
    ready_since = _ready_since(ready, created)
    return Pod(
        name=raw["metadata"]["name"],
        uid=uid_of(raw),
        labels=labels_of(raw),
        controller=controller_of(raw),
        node=spec.get("nodeName") or "",
        phase=status.get("phase") or PENDING,
        ready_since=ready_since,
        created=created,
        restarts=max(restarts, default=0),
        sidecar_restarts=max(sidecar_restarts, default=0),
        all_restarts=sum(restarts) + sum(sidecar_restarts),
        deletion_cost=_deletion_cost(annotations_of(raw)),
        is_deleting=is_deleting(raw),
        ended=_ended(status, ready),
        has_been_ready=_has_been_ready(status, ready),
        is_disruption_target=_condition(status, "DisruptionTarget").get("status") == "True",
        trouble=None if ready_since is not None else trouble_of(raw),
    )


def _condition(status: Json, type_: str) -> Mapping[str, Any]:
    for condition in status.get("conditions") or ():
        if condition.get("type") == type_:
            found: Mapping[str, Any] = condition
            return found
    return {}


def _ready_since(ready: Mapping[str, Any], created: datetime | None) -> datetime | None:
    if ready.get("status") != "True":
        return None
    return parse_time(ready.get("lastTransitionTime")) or created


def _ended(status: Json, ready: Mapping[str, Any]) -> datetime | None:
    if status.get("phase") not in TERMINAL_PHASES:
        return None
    return parse_time(ready.get("lastTransitionTime")) or parse_time(status.get("startTime"))


def _has_been_ready(status: Json, ready: Mapping[str, Any]) -> bool:
    """Tell from its last change to "not ready" whether an ended pod was ready before."""
    if status.get("phase") not in TERMINAL_PHASES:
        return False
    if ready.get("status") == "True":
        return True
    changed = parse_time(ready.get("lastTransitionTime"))
    started = parse_time(status.get("startTime"))
    return changed is not None and started is not None and changed - started > _MOMENT


def _restarts(statuses: Iterable[Mapping[str, Any]] | None) -> list[int]:
    return [status.get("restartCount", 0) for status in statuses or ()]


def _sidecar_restarts(spec: Json, status: Json) -> list[int]:
    statuses = status.get("initContainerStatuses")
    if not statuses:
        return []
    sidecars = {
        container.get("name")
        for container in spec.get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    return _restarts(entry for entry in statuses if entry.get("name") in sidecars)


def _deletion_cost(annotations: Mapping[str, str]) -> int:
    """Read the cost as the API documents it: an int32; anything else counts as 0."""
    raw = annotations.get(names.POD_DELETION_COST, "")
    digits = raw[1:] if raw[:1] in ("-", "+") else raw
    if not (digits.isascii() and digits.isdigit()):
        return 0
    cost = int(raw) if len(digits) <= len(str(2**31)) else 2**31
    return cost if -(2**31) <= cost < 2**31 else 0
