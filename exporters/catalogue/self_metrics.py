"""What every process tells about its own metrics endpoint, its build and its event loop."""

from __future__ import annotations

from exporters.catalogue.metric import Bounded, Metric

METRICS: tuple[Metric, ...] = (
    Metric(
        name="levelset_build_info",
        type="gauge",
        labels={
            "process": Bounded("one value in each process", 1),
            "version": Bounded("one value in each process", 1),
            "python": Bounded("one value in each process", 1),
        },
        help="Always 1; the labels tell what is running.",
    ),
    Metric(
        name="levelset_event_loop_lag_seconds",
        type="histogram",
        unit="seconds",
        help="How much later than asked the event loop woke a sleeper, sampled twice a second.",
    ),
    Metric(
        name="levelset_metrics_insecure",
        type="gauge",
        help="1 while /metrics is served without encryption and without authorization.",
    ),
    Metric(
        name="levelset_metrics_requests_total",
        type="counter",
        labels={"code": ("200", "401", "403", "500", "503")},
        help="Answers of /metrics by status code.",
    ),
    Metric(
        name="levelset_metrics_render_duration_seconds",
        type="histogram",
        unit="seconds",
        help="Time to render and compress one answer of /metrics.",
    ),
    Metric(
        name="levelset_metrics_response_bytes",
        type="gauge",
        unit="bytes",
        help="Size of the last page of /metrics before compression.",
    ),
    Metric(
        name="levelset_metrics_collect_errors_total",
        type="counter",
        labels={"collector": Bounded("the collectors of the process", 64)},
        help="Times that a collector failed; its families were missing from that page.",
    ),
    Metric(
        name="levelset_metrics_reviews_total",
        type="counter",
        labels={"result": ("allowed", "denied", "unauthenticated", "error", "outage_allowed")},
        help="Decisions on who may scrape; outage_allowed is a remembered yes during an outage.",
    ),
    Metric(
        name="certwatcher_read_certificate_total",
        type="counter",
        help="Times that the serving certificate was read from its files.",
    ),
    Metric(
        name="certwatcher_read_certificate_errors_total",
        type="counter",
        help="Times that the serving certificate could not be read; the previous one stays in use.",
    ),
)
