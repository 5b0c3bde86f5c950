"""What the supply chain part counts, by name; the catalogue declares the metrics."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable

from exporters.instrument import Instruments
from supply_chain.cache import Use
from supply_chain.resources import ImagePolicy

_KINDS = ("ClusterImagePolicy", "ImagePolicy")
_STATES = ("valid", "invalid")
_SUCCESSES = ("200",)
_REDIRECTS = ("301", "302", "303", "307", "308")
_REFUSALS = ("400", "401", "403", "404", "405", "429")
_FAILURES = ("500", "502", "503", "504", "error")
_COMMON_CODES = frozenset((*_SUCCESSES, *_REDIRECTS, *_REFUSALS, *_FAILURES))


class Metrics:
    """A thin class over the instruments."""

    def __init__(self, instruments: Instruments) -> None:
        self._reviews = instruments.counter("levelset_admission_reviews_total")
        self._review_time = instruments.histogram("levelset_admission_review_duration_seconds")
        self._verdicts = instruments.counter("levelset_image_verdicts_total")
        self._cache = instruments.counter("levelset_image_verdict_cache_total")
        self._cache_entries = instruments.gauge("levelset_image_verdict_cache_entries")
        self._requests = instruments.counter("levelset_registry_requests_total")
        self._request_time = instruments.histogram("levelset_registry_request_duration_seconds")
        self._policies = instruments.gauge("levelset_image_policies")
        self._expiry = instruments.gauge("levelset_webhook_certificate_expiry_timestamp_seconds")
        self._insecure = instruments.gauge("levelset_registry_insecure_hosts")

    def reviewed(self, webhook: str, operation: str, result: str, seconds: float) -> None:
        """Count one admission review."""
        self._reviews.labels(webhook, operation, result).inc()
        self._review_time.labels(webhook).observe(seconds)

    def judged(self, result: str) -> None:
        """Count one image."""
        self._verdicts.labels(result).inc()

    def cache_used(self, use: Use) -> None:
        """Count one question to the cache."""
        self._cache.labels(use).inc()

    def cache_size(self, entries: int) -> None:
        """Set how many verdicts are kept."""
        self._cache_entries.set(entries)

    def registry_asked(self, purpose: str, code: str, seconds: float) -> None:
        """Count one request to a registry."""
        # A registry may answer any number; each would be a series for ever.
        self._requests.labels(purpose, code if code in _COMMON_CODES else "other").inc()
        self._request_time.labels(purpose).observe(seconds)

    def policies_changed(self, policies: Iterable[ImagePolicy]) -> None:
        """Set how many policies there are."""
        counts = Counter((p.kind, "invalid" if p.problem else "valid") for p in policies)
        for kind in _KINDS:
            for state in _STATES:
                self._policies.labels(kind, state).set(counts[kind, state])

    def certificate_loaded(self, expires: dt.datetime) -> None:
        """Set when the serving certificate ends."""
        self._expiry.set(expires.timestamp())

    def insecure_hosts(self, count: int) -> None:
        """Set how many registries are spoken to in plain HTTP."""
        self._insecure.set(count)
