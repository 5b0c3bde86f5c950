"""Counters, gauges and histograms of one process, made from the catalogue by name.

`__main__` of each process makes one Instruments and passes it on: `.runtime` to kube_runtime, the
rest to the part's metrics.py, the whole to the MetricsServer. No global registry, nothing is
registered at import time, and a name that the catalogue lacks is an error at start.
"""

from __future__ import annotations

import itertools
import os
import platform
from importlib import metadata
from typing import Final, TypeAlias, cast

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from exporters.catalogue import CATALOGUE
from exporters.catalogue.metric import Metric, MetricType
from exporters.errors import ExportersError, UnknownMetric
from exporters.registry import GuardedRegistry
from exporters.runtime_metrics import RuntimeMetrics

Instrument: TypeAlias = Counter | Gauge | Histogram
_MULTIPROCESS: Final = "PROMETHEUS_MULTIPROC_DIR"


class Instruments:
    """The instruments of one process and the registry that renders them."""

    def __init__(self, process: str) -> None:
        _refuse_multiprocess_mode()
        self.process: Final = process
        self.registry: Final = GuardedRegistry(self._count_collect_error)
        self._made: dict[str, Instrument] = {}
        self._collect_errors = self.counter("levelset_metrics_collect_errors_total")
        self.runtime: Final = RuntimeMetrics(self)
        self._describe_process()

    def counter(self, name: str) -> Counter:
        """Return the counter of this name; the same object each time."""
        return cast("Counter", self._instrument(name, "counter"))

    def gauge(self, name: str) -> Gauge:
        """Return the gauge of this name; the same object each time."""
        return cast("Gauge", self._instrument(name, "gauge"))

    def histogram(self, name: str) -> Histogram:
        """Return the histogram of this name; the same object each time."""
        return cast("Histogram", self._instrument(name, "histogram"))

    def _instrument(self, name: str, wanted: MetricType) -> Instrument:
        metric = _entry(name, wanted)
        if name not in self._made:
            self._made[name] = self._make(metric)
        return self._made[name]

    def _make(self, metric: Metric) -> Instrument:
        instrument = _constructed(metric, self.registry)
        if metric.labels:
            for values in itertools.product(*(metric.closed_domains or [()])):
                instrument.labels(*values)  # an absent series is not a zero: rate() misses the 1st
        return instrument

    def _describe_process(self) -> None:
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        build_info = self.gauge("levelset_build_info")
        build_info.labels(self.process, version(), platform.python_version()).set(1)

    def _count_collect_error(self, collector: str) -> None:
        self._collect_errors.labels(collector).inc()


def version() -> str:
    """Return the version of the installed distribution."""
    try:
        return metadata.version("levelset")
    except metadata.PackageNotFoundError:  # run from a checkout that was never installed
        return "unknown"


def _entry(name: str, wanted: MetricType) -> Metric:
    metric = CATALOGUE.get(name)
    if metric is None:
        raise UnknownMetric(name, "the catalogue has no such entry; add it in exporters/catalogue/")
    if metric.type != wanted:
        raise UnknownMetric(name, f"the catalogue has it as {metric.type}, not as {wanted}")
    if metric.is_state:
        raise UnknownMetric(name, "it describes objects and is made by the state store alone")
    return metric


def _constructed(metric: Metric, registry: GuardedRegistry) -> Instrument:
    labels = tuple(metric.labels)
    if metric.type == "counter":
        return Counter(metric.name, metric.help, labels, registry=registry)
    if metric.type == "gauge":
        return Gauge(metric.name, metric.help, labels, registry=registry)
    return Histogram(metric.name, metric.help, labels, registry=registry, buckets=metric.buckets)


def _refuse_multiprocess_mode() -> None:
    if _MULTIPROCESS in os.environ:
        raise ExportersError(
            f"environment variable {_MULTIPROCESS}: expected unset, found set; prometheus_client "
            "would write its samples to files that nobody reads or reaps: unset it",
            reason="MultiprocessMetrics",
        )
