"""The status of a PodSet: counts of its pods, and conditions that a person can act upon.

Computed in every sync, also in one whose writes failed; written only if it differs. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from kube_runtime.conditions import (
    Condition,
    Verdict,
    kstatus,
    remove_condition,
    set_condition,
)
from kube_runtime.selectors import InvalidSelector
from workloads.blocked_by import BlockedBy, BlockReason
from workloads.pods import Pod
from workloads.podset.backoff import NO_BACKOFF, Backoff
from workloads.podset.blocking import blocked_by_pods, blocked_by_refusal
from workloads.podset.ranking import is_disrupted
from workloads.podset.resources import PodSet, PodSetStatus

REPLICA_FAILURE: Final = "ReplicaFailure"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why pods could not be made or deleted, or did not live long enough to be ready."""

    reason: Literal["FailedCreate", "FailedDelete", "PodsFailed"]
    message: str
    blocked: BlockReason | None = None
    """What kind of refusal it was; None when it may pass by itself."""


def next_status(
    podset: PodSet,
    pods: Iterable[Pod],
    *,
    failure: Failure | None,
    now: datetime,
    backoff: Backoff = NO_BACKOFF,
    disrupted_nodes: frozenset[str] = frozenset(),
) -> PodSetStatus:
    """Describe the pods as the sync found them, and what kept it from its aim."""
    pods = tuple(pods)
    active = [pod for pod in pods if pod.is_active]
    wanted = podset.template_labels
    available = [pod for pod in active if pod.is_available(podset.min_ready_seconds, now)]
    told = failure or _failure_of(backoff)
    return PodSetStatus(
        replicas=len(active),
        fully_labeled_replicas=sum(
            pod.labels == wanted or wanted.items() <= pod.labels.items() for pod in active
        ),
        ready_replicas=sum(pod.is_ready for pod in active),
        available_replicas=len(available),
        terminating_replicas=sum(pod.is_terminating for pod in pods),
        disrupted_replicas=sum(is_disrupted(pod, disrupted_nodes) for pod in available),
        failed_replicas=len(backoff.failed),
        restarts=sum(pod.all_restarts for pod in active),
        backoff_until=backoff.until,
        blocked_by=_blocked_by(podset, active, backoff, failure, now),
        observed_generation=podset.generation,
        selector=podset.selector.to_string(),
        conditions=_conditions(podset, len(active), len(available), told, now),
    )


def _failure_of(backoff: Backoff) -> Failure | None:
    """Tell of the pod that failed last, in its node's words."""
    if not backoff.failed:
        return None
    last = backoff.failed[-1]
    why = last.trouble.message if last.trouble is not None else "no reason given"
    count = len(backoff.failed)
    failed = "pod has" if count == 1 else "pods have"
    return Failure(
        "PodsFailed", f"{count} {failed} failed before being ready, the last one {last.name}: {why}"
    )


def _blocked_by(
    podset: PodSet, active: Sequence[Pod], backoff: Backoff, failure: Failure | None, now: datetime
) -> BlockedBy | None:
    old = podset.status.blocked_by
    if failure is not None and failure.blocked is not None:
        missing = podset.replicas - len(active)
        return blocked_by_refusal(
            failure.blocked, failure.message, missing=missing, old=old, now=now
        )
    return blocked_by_pods((*backoff.failed, *active), old=old, now=now)


def invalid_status(
    old: PodSetStatus, error: InvalidSelector, *, generation: int, now: datetime
) -> PodSetStatus:
    """Say that the PodSet cannot be worked on until its spec is put right."""
    verdict = Verdict("True", error.reason, str(error))
    conditions = kstatus(
        old.conditions,
        now,
        generation=generation,
        ready=Verdict("False", error.reason, str(error)),
        stalled=verdict,
    )
    return PodSetStatus(observed_generation=generation, conditions=tuple(conditions))


def _conditions(
    podset: PodSet, replicas: int, available: int, failure: Failure | None, now: datetime
) -> tuple[Condition, ...]:
    conditions = list(podset.status.conditions)
    if failure is None:
        conditions = remove_condition(conditions, REPLICA_FAILURE)
    else:
        entry = Condition(
            REPLICA_FAILURE, "True", failure.reason, failure.message, podset.generation
        )
        conditions = set_condition(conditions, entry, now)
    reconciling = _unfinished(podset, replicas, available, failure)
    if reconciling is None:
        ready = Verdict("True", "PodsAvailable", f"{available} of {podset.replicas} available")
    else:
        ready = Verdict("False", reconciling.reason, reconciling.message)
    return tuple(
        kstatus(conditions, now, generation=podset.generation, ready=ready, reconciling=reconciling)
    )


def _unfinished(
    podset: PodSet, replicas: int, available: int, failure: Failure | None
) -> Verdict | None:
    """Say what is still to come; None when the pods are level with the spec."""
    if podset.is_deleting:
        return Verdict("True", "Deleting", "waits for the garbage collector")
    if failure is not None:
        return Verdict("True", failure.reason, failure.message)
    if replicas != podset.replicas:
        return Verdict("True", "Scaling", f"{replicas} of {podset.replicas} pods exist")
    if available != podset.replicas:
        return Verdict("True", "PodsUnavailable", f"{available} of {podset.replicas} available")
    return None
