"""The state of our custom resources, served by the leading exporter from its byte store.

`exported_namespace` instead of `namespace`: a scraped `namespace` would be renamed to it anyway
unless honorLabels is on, and with this name nobody has to touch honorLabels on a shared Prometheus.
No value that grows without end (message, revision history, annotation) is ever a label here.
"""

from __future__ import annotations

from exporters.catalogue.metric import Bounded, Metric, PerObject

CONDITION_STATUSES = ("true", "false", "unknown")
REPLICA_STATES = ("desired", "current", "updated", "ready", "available", "terminating")

CONDITIONS_PER_KIND = 6
"""kstatus' Ready, Reconciling and Stalled, and three of the kind's own."""

_OBJECT = {
    "kind": PerObject("the kind of the object"),
    "exported_namespace": PerObject("the namespace of the object; empty for cluster-scoped kinds"),
    "name": PerObject("the name of the object"),
}
_APP = {label: domain for label, domain in _OBJECT.items() if label != "kind"}
_WATCHED = Bounded("the kinds that the exporter watches", 8)

OBJECT_METRICS: tuple[Metric, ...] = (
    Metric(
        name="levelset_resource_info",
        type="gauge",
        labels={**_OBJECT, "version": Bounded("the version of the API, one at a time", 1)},
        help="Always 1 while the object exists.",
    ),
    Metric(
        name="levelset_resource_status_condition",
        type="gauge",
        labels={
            **_OBJECT,
            "condition": Bounded("an allow-list for each kind", CONDITIONS_PER_KIND),
            "status": CONDITION_STATUSES,
        },
        help="1 for the status that the condition has, 0 for the two others.",
    ),
    Metric(
        name="levelset_resource_metadata_generation",
        type="gauge",
        labels=_OBJECT,
        help="Generation of the spec that was asked for.",
    ),
    Metric(
        name="levelset_resource_status_observed_generation",
        type="gauge",
        labels=_OBJECT,
        help="Generation of the spec that the controller last acted upon; -1 for none yet.",
    ),
    Metric(
        name="levelset_resource_created_timestamp_seconds",
        type="gauge",
        unit="seconds",
        labels=_OBJECT,
        help="When the object was created, in seconds of Unix time.",
    ),
    Metric(
        name="levelset_resource_deletion_timestamp_seconds",
        type="gauge",
        unit="seconds",
        labels=_OBJECT,
        help="When deletion was asked for; only while the object is being deleted.",
    ),
    Metric(
        name="levelset_resource_suspended",
        type="gauge",
        labels=_OBJECT,
        help="1 while the spec asks the controller to pause; only for kinds that can.",
    ),
    Metric(
        name="levelset_resource_status_replicas",
        type="gauge",
        labels={**_OBJECT, "state": REPLICA_STATES},
        help="Pods of a Rollout or PodSet: asked for, and counted by the controller.",
    ),
    Metric(
        name="levelset_app_info",
        type="gauge",
        labels={
            **_APP,
            "project": PerObject("the Project of the Application"),
            "sync_status": Bounded("one at a time", 1),
            "health_status": Bounded("one at a time", 1),
        },
        help="Always 1; the labels tell how the Application stands.",
    ),
    Metric(
        name="levelset_app_drifted_resources",
        type="gauge",
        labels=_APP,
        help="Objects of the Application that are not as Git declares them.",
    ),
    Metric(
        name="levelset_app_last_sync_timestamp_seconds",
        type="gauge",
        unit="seconds",
        labels=_APP,
        help="When the last sync of the Application finished, in seconds of Unix time.",
    ),
)
"""In the order of the page."""

EXPORTER_METRICS: tuple[Metric, ...] = (
    Metric(
        name="levelset_exporter_watch_last_contact_timestamp_seconds",
        type="gauge",
        unit="seconds",
        labels={"kind": _WATCHED},
        help="When the API server was last heard of the kind: a list, an event or a bookmark.",
    ),
    Metric(
        name="levelset_exporter_objects",
        type="gauge",
        labels={"kind": _WATCHED},
        help="Objects whose state is being served.",
    ),
    Metric(
        name="levelset_exporter_series",
        type="gauge",
        help="Series of object state that the page holds.",
    ),
    Metric(
        name="levelset_exporter_series_dropped",
        type="gauge",
        help="Series of object state that are missing because a family reached its limit.",
    ),
    Metric(
        name="levelset_exporter_kind_unavailable",
        type="gauge",
        labels={"kind": _WATCHED},
        help="1 while the API server does not serve the kind or does not let us read it.",
    ),
)

METRICS: tuple[Metric, ...] = OBJECT_METRICS + EXPORTER_METRICS
