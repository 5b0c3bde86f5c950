"""The metrics of the supply chain; the part owns this file, its metrics.py observes them."""

from __future__ import annotations

from exporters.catalogue.metric import Bounded, Metric

_REGISTRY_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_REVIEW_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_PURPOSES = ("manifest", "referrers", "fallback tag", "blob", "token")

METRICS: tuple[Metric, ...] = (
    Metric(
        name="levelset_admission_reviews_total",
        type="counter",
        help="Admission reviews answered.",
        labels={
            "webhook": ("mutate", "validate"),
            "operation": ("create", "update", "delete", "connect"),
            "result": ("allowed", "denied", "error"),
        },
    ),
    Metric(
        name="levelset_admission_review_duration_seconds",
        type="histogram",
        unit="seconds",
        help="Time to answer an admission review, registry and verification included.",
        labels={"webhook": ("mutate", "validate")},
        buckets=_REVIEW_BUCKETS,
    ),
    Metric(
        name="levelset_image_verdicts_total",
        type="counter",
        help="Images judged: verified, denied, unmatched by any policy, or error (denied, too).",
        labels={"result": ("verified", "denied", "unmatched", "error")},
    ),
    Metric(
        name="levelset_image_verdict_cache_total",
        type="counter",
        help="Questions to the verdict cache: answered from it, answered anew, or by one under way.",
        labels={"result": ("hit", "miss", "shared")},
    ),
    Metric(
        name="levelset_image_verdict_cache_entries",
        type="gauge",
        help="Verdicts in the cache.",
    ),
    Metric(
        name="levelset_registry_requests_total",
        type="counter",
        help="Requests to image registries.",
        labels={
            "purpose": _PURPOSES,
            "code": Bounded("the common HTTP status codes, error and other", 18),
        },
    ),
    Metric(
        name="levelset_registry_request_duration_seconds",
        type="histogram",
        unit="seconds",
        help="Time that a request to an image registry took, body included.",
        labels={"purpose": _PURPOSES},
        buckets=_REGISTRY_BUCKETS,
    ),
    Metric(
        name="levelset_image_policies",
        type="gauge",
        help="Image policies in force, and those that are invalid and deny what they match.",
        labels={"kind": ("ClusterImagePolicy", "ImagePolicy"), "state": ("valid", "invalid")},
    ),
    Metric(
        name="levelset_webhook_certificate_expiry_timestamp_seconds",
        type="gauge",
        unit="seconds",
        help="When the certificate that the admission webhook serves with ends.",
    ),
    Metric(
        name="levelset_registry_insecure_hosts",
        type="gauge",
        help="Registries that may be spoken to in plain HTTP, by --insecure-registries.",
    ),
)
