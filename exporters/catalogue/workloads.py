"""The metrics of the workloads controllers; the part owns this file, its metrics.py observes them."""

from __future__ import annotations

from exporters.catalogue.metric import Metric

_RESULT = {"result": ("success", "failure")}
_KIND = ("Pod", "PodSet")

METRICS: tuple[Metric, ...] = (
    Metric(
        name="levelset_pod_creations_total",
        type="counter",
        labels=_RESULT,
        help="Pods that the PodSet controller created, or tried to.",
    ),
    Metric(
        name="levelset_pod_deletions_total",
        type="counter",
        labels=_RESULT,
        help="Superfluous pods that the PodSet controller deleted, or tried to.",
    ),
    Metric(
        name="levelset_claims_total",
        type="counter",
        labels={"kind": _KIND, "action": ("adopt", "release")},
        help="Orphans that were adopted and strays that were released, by their kind.",
    ),
    Metric(
        name="levelset_podset_scalings_total",
        type="counter",
        labels={"direction": ("up", "down")},
        help="Times that a Rollout gave one of its PodSets another size.",
    ),
    Metric(
        name="levelset_rollouts_finished_total",
        type="counter",
        labels={"outcome": ("complete", "deadline_exceeded")},
        help="Rollouts that came to an end: all pods new and available, or no progress in time.",
    ),
    Metric(
        name="levelset_rollbacks_total",
        type="counter",
        labels={
            "reason": (
                "ProgressDeadlineExceeded",
                "TooManyRestarts",
                "TooManyFailedPods",
                "CrashLoop",
                "GateFailed",
                "JobFailed",
            )
        },
        help="Revisions that failed and made way for the last good one.",
    ),
    Metric(
        name="levelset_template_hash_collisions_total",
        type="counter",
        help="Names of new revisions that were taken by another template or another owner.",
    ),
    Metric(
        name="levelset_expectations_expired_total",
        type="counter",
        labels={"kind": _KIND},
        help="Times that the cache did not show our own writes in time and was listed anew.",
    ),
)
