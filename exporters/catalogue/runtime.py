"""What kube_runtime reports in every controller process.

Names, types and labels are controller-runtime's, workqueue's and client-go's where those have one;
`controller` doubles `name` on the queues, as controller-runtime writes it since 0.20.
The informer families are our own, after kube-state-metrics' list and watch counters.
"""

from __future__ import annotations

from exporters.catalogue.metric import Bounded, Metric
from kube_runtime.instrumentation import RECONCILE_RESULTS

_QUEUE_BUCKETS = tuple(10.0**exponent for exponent in range(-8, 4))
_CONTROLLER = Bounded("the controllers of the process", 8)
_QUEUE = {"name": _CONTROLLER, "controller": _CONTROLLER}
_KIND = Bounded("the kinds that the process watches", 16)
_RESULT = ("success", "error")
_HOST = Bounded("the addresses of the API server", 1)
_VERB = Bounded("HTTP methods", 6)

METRICS: tuple[Metric, ...] = (
    Metric(
        name="controller_runtime_reconcile_total",
        type="counter",
        labels={"controller": _CONTROLLER, "result": RECONCILE_RESULTS},
        help="Finished reconciles by outcome.",
    ),
    Metric(
        name="controller_runtime_reconcile_errors_total",
        type="counter",
        labels={"controller": _CONTROLLER},
        help="Reconciles that ended with an error of any sort.",
    ),
    Metric(
        name="controller_runtime_reconcile_panics_total",
        type="counter",
        labels={"controller": _CONTROLLER},
        help="Reconciles that ended with an exception nobody foresaw: a bug.",
    ),
    Metric(
        name="controller_runtime_reconcile_timeouts_total",
        type="counter",
        labels={"controller": _CONTROLLER},
        help="Reconciles that were stopped at the time limit.",
    ),
    Metric(
        name="controller_runtime_reconcile_time_seconds",
        type="histogram",
        unit="seconds",
        labels={"controller": _CONTROLLER},
        help="Time of one reconcile, from taking the key to the result.",
    ),
    Metric(
        name="controller_runtime_max_concurrent_reconciles",
        type="gauge",
        labels={"controller": _CONTROLLER},
        help="Workers of the controller.",
    ),
    Metric(
        name="controller_runtime_active_workers",
        type="gauge",
        labels={"controller": _CONTROLLER},
        help="Keys that are being reconciled at this moment.",
    ),
    Metric(
        name="workqueue_depth",
        type="gauge",
        labels=_QUEUE,
        help="Keys that wait in the queue.",
    ),
    Metric(
        name="workqueue_adds_total",
        type="counter",
        labels=_QUEUE,
        help="Keys that were put into the queue.",
    ),
    Metric(
        name="workqueue_retries_total",
        type="counter",
        labels=_QUEUE,
        help="Keys that were put back after a failure, with back-off.",
    ),
    Metric(
        name="workqueue_queue_duration_seconds",
        type="histogram",
        unit="seconds",
        labels=_QUEUE,
        buckets=_QUEUE_BUCKETS,
        help="Time that a key waited in the queue.",
    ),
    Metric(
        name="workqueue_work_duration_seconds",
        type="histogram",
        unit="seconds",
        labels=_QUEUE,
        buckets=_QUEUE_BUCKETS,
        help="Time that a key was worked on.",
    ),
    Metric(
        name="workqueue_unfinished_work_seconds",
        type="gauge",
        unit="seconds",
        labels=_QUEUE,
        help="Sum of the time that the keys in work have taken so far; growth means stuck workers.",
    ),
    Metric(
        name="workqueue_longest_running_processor_seconds",
        type="gauge",
        unit="seconds",
        labels=_QUEUE,
        help="Time that the oldest key in work has taken so far.",
    ),
    Metric(
        name="rest_client_requests_total",
        type="counter",
        labels={
            "code": Bounded("HTTP status codes, or <error>", 24),
            "method": _VERB,
            "host": _HOST,
        },
        help="Requests to the API server by status code; <error> means that no answer came.",
    ),
    Metric(
        name="rest_client_request_duration_seconds",
        type="histogram",
        unit="seconds",
        labels={"verb": _VERB, "host": _HOST},
        help="Time of one request to the API server, with the wait for our own rate limit.",
    ),
    Metric(
        name="leader_election_master_status",
        type="gauge",
        labels={"name": Bounded("the lease of the process", 1)},
        help="Whether this process holds the lease (1) or waits for it (0).",
    ),
    Metric(
        name="levelset_informer_lists_total",
        type="counter",
        labels={"kind": _KIND, "result": _RESULT},
        help="Full lists that an informer asked for, by outcome.",
    ),
    Metric(
        name="levelset_informer_watches_total",
        type="counter",
        labels={"kind": _KIND, "result": _RESULT},
        help="Watches that an informer held, by how they ended.",
    ),
    Metric(
        name="levelset_informer_watch_restarts_total",
        type="counter",
        labels={"kind": _KIND, "reason": Bounded("the reasons that kube_runtime names", 12)},
        help="Watches that were opened again, by the reason for it.",
    ),
    Metric(
        name="levelset_informer_handler_errors_total",
        type="counter",
        labels={"kind": _KIND},
        help="Times that a handler of an informer failed: a bug; the informer went on.",
    ),
    Metric(
        name="levelset_informer_last_contact_timestamp_seconds",
        type="gauge",
        unit="seconds",
        labels={"kind": _KIND},
        help="When a list or a watch of the kind last ended well, in seconds of Unix time.",
    ),
    Metric(
        name="levelset_informer_objects",
        type="gauge",
        labels={"kind": _KIND},
        help="Objects that an informer holds.",
    ),
    Metric(
        name="levelset_informer_stale_total",
        type="counter",
        labels={"kind": _KIND},
        help="Times that an informer was found behind the API server and was made to list again.",
    ),
    Metric(
        name="levelset_events_dropped_total",
        type="counter",
        help="Kubernetes Events that were not written: filtered as spam, or the buffer was full.",
    ),
)
