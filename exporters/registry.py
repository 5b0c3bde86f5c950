"""A collector registry in which one broken collector costs its own families and nothing else.

prometheus_client answers 500 for the whole page when one collector raises, which is a gap in
everything just when something is wrong; here the failure is counted and logged once a minute.
The server renders this registry; the instruments register into it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry
from prometheus_client.metrics import disable_created_metrics
from prometheus_client.registry import Collector

from exporters.encoding import encode
from exporters.negotiation import Format
from kube_runtime.logs import fields

_LOG = logging.getLogger(__name__)
_LOG_AGAIN_SECONDS = 60.0


class GuardedRegistry(CollectorRegistry):
    """Renders each of its collectors behind an error boundary of its own."""

    def __init__(self, on_error: Callable[[str], None] = lambda _collector: None) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a line less a child
        super().__init__(auto_describe=False)
        self._collectors: dict[Collector, None] = {}
        self._on_error = on_error
        self._logged_at: dict[str, float] = {}

    def register(self, collector: Collector) -> None:
        """Take a collector in; the same family twice is a ValueError."""
        super().register(collector)
        self._collectors[collector] = None

    def unregister(self, collector: Collector) -> None:
        """Take a collector out."""
        super().unregister(collector)
        self._collectors.pop(collector, None)

    def render(self, form: Format) -> bytes:
        """Render all collectors but those that fail; without OpenMetrics' end mark.

        Safe to call from another thread than the one that counts.
        """
        return b"".join(self._rendered(collector, form) for collector in list(self._collectors))

    def _rendered(self, collector: Collector, form: Format) -> bytes:
        try:
            return encode(collector.collect(), form)
        except Exception as error:  # noqa: BLE001 - the boundary: a bug in one collector stays there
            self.report(str(collector), error)
            return b""

    def report(self, name: str, error: Exception) -> None:
        """Count a failure, and log it unless it was logged less than a minute ago."""
        self._on_error(name)
        now = time.monotonic()
        if now - self._logged_at.get(name, float("-inf")) >= _LOG_AGAIN_SECONDS:
            self._logged_at[name] = now
            _LOG.error("collector failed", extra=fields(collector=name), exc_info=error)
