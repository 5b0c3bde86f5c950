"""The metrics of the GitOps agent; the part owns this file, its metrics.py observes them."""

from __future__ import annotations

from exporters.catalogue.metric import Bounded, Metric

_REASONS = Bounded(by="the error classes of the agent", at_most=20)
_RESULTS = ("succeeded", "failed")

METRICS: tuple[Metric, ...] = (
    Metric(
        name="levelset_gitops_applications",
        type="gauge",
        help="Applications by what the last comparison found.",
        labels={
            "sync": ("Synced", "OutOfSync", "Unknown"),
            "health": ("Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown"),
        },
    ),
    Metric(
        name="levelset_gitops_syncs_total",
        type="counter",
        help="Syncs by what caused them and how they ended.",
        labels={"cause": ("request", "commit", "drift", "retry"), "result": _RESULTS},
    ),
    Metric(
        name="levelset_gitops_sync_duration_seconds",
        type="histogram",
        unit="seconds",
        help="Time from the decision to sync to its end, preflight included.",
    ),
    Metric(
        name="levelset_gitops_push_to_apply_seconds",
        type="histogram",
        unit="seconds",
        help="Time from an accepted push hint to the first apply of the new commit.",
    ),
    Metric(
        name="levelset_gitops_objects_applied_total",
        type="counter",
        help="Objects that were applied.",
    ),
    Metric(
        name="levelset_gitops_objects_pruned_total",
        type="counter",
        help="Objects that were deleted because they left Git.",
    ),
    Metric(
        name="levelset_gitops_prunes_held_total",
        type="counter",
        help="Objects whose deletion was held back for want of proof.",
    ),
    Metric(
        name="levelset_gitops_failures_total",
        type="counter",
        help="Reconciles that ended in an error, by its reason.",
        labels={"reason": _REASONS},
    ),
    Metric(
        name="levelset_gitops_git_requests_total",
        type="counter",
        help="Network requests to repositories, by result: ok or the reason of the failure.",
        labels={"request": ("ls-remote", "fetch"), "result": _REASONS},
    ),
    Metric(
        name="levelset_gitops_git_request_duration_seconds",
        type="histogram",
        unit="seconds",
        help="Duration of network requests to repositories.",
        labels={"request": ("ls-remote", "fetch")},
    ),
    Metric(
        name="levelset_gitops_renders_total",
        type="counter",
        help="Renders by tool, and whether the content was known already.",
        labels={"tool": ("directory", "kustomize"), "cached": ("true", "false")},
    ),
    Metric(
        name="levelset_gitops_push_hints_total",
        type="counter",
        help="Requests to the push webhook by sender and result.",
        labels={
            "sender": ("github", "gitlab", "gitea", "unknown"),
            "result": ("accepted", "duplicate", "unsigned", "malformed", "ignored"),
        },
    ),
)
