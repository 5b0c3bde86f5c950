"""What one metric is: name, type, unit, labels with their domains, help, stability.

Every entry of the catalogue is checked when it is made, so that a badly named metric or an unbounded
label fails the import of the process that declares it, and never reaches a Prometheus.
Naming follows Prometheus' own rules; names taken over from controller-runtime, client-go and the
process collectors keep their spelling, so that existing dashboards and rules work unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

MetricType: TypeAlias = Literal["counter", "gauge", "histogram"]
Unit: TypeAlias = Literal["", "seconds", "bytes", "ratio"]
Stability: TypeAlias = Literal["alpha", "beta", "stable"]

SECONDS_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
"""Twelve instead of controller-runtime's forty: a child is 15 lines instead of 43 in every scrape."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")  # dots and UTF-8 are legal, and mangled by older scrapers
_OWN_PREFIX = "levelset_"
_ADOPTED_PREFIXES = (
    "certwatcher_",
    "controller_runtime_",
    "leader_election_",
    "process_",
    "python_",
    "rest_client_",
    "workqueue_",
)
_RESERVED_LABELS = {"le", "quantile", "job", "instance", "namespace"}
_HISTOGRAM_SUFFIXES = ("_bucket", "_count", "_sum", "_created")
_UNSPECIFIC_UNITS = ("_milliseconds", "_ms", "_minutes", "_hours", "_percent", "_kb", "_mb")
_CHILDREN_AT_START = 64


class BadMetric(ValueError):  # noqa: N818 - reads as what happened
    """A catalogue entry breaks a naming rule; the message names the entry and the rule."""


@dataclass(frozen=True, slots=True)
class Bounded:
    """A label whose values are not listed, but kept finite by something outside the code."""

    by: str
    """What bounds it, for the reader of docs/metrics.md: "the controllers of the process"."""

    at_most: int
    """Values to expect in one process; it counts into the cardinality budget."""


@dataclass(frozen=True, slots=True)
class PerObject:
    """A label that identifies a cluster object; only for families of the state store.

    Instrumentation never carries one: those series are not removed when the object is.
    """

    what: str
    """The thing identified: "the namespace of the object"."""


Domain: TypeAlias = tuple[str, ...] | Bounded | PerObject
"""A closed set of values, a bounded set, or the identity of an object."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One family of series, as the catalogue declares it."""

    name: str
    type: MetricType
    help: str
    unit: Unit = ""
    labels: Mapping[str, Domain] = field(default_factory=dict)
    stability: Stability = "alpha"
    buckets: tuple[float, ...] = SECONDS_BUCKETS
    """Upper bounds of a histogram's buckets; ignored by the other types."""

    def __post_init__(self) -> None:
        for rule, is_broken in _rules(self):
            if is_broken:
                raise BadMetric(f"metric {self.name!r}: {rule}")

    @property
    def is_state(self) -> bool:
        """Tell whether the family describes cluster objects and belongs to the state store."""
        return any(isinstance(domain, PerObject) for domain in self.labels.values())

    @property
    def closed_domains(self) -> tuple[tuple[str, ...], ...] | None:
        """Return the domains when all of them are listed and few: such children start at zero."""
        domains = [d for d in self.labels.values() if isinstance(d, tuple)]
        if len(domains) < len(self.labels) or self.series_per_target > _CHILDREN_AT_START:
            return None
        return tuple(domains)

    @property
    def series_per_target(self) -> int:
        """Count the children that one process (or one object, for state) may have at most."""
        total = 1
        for domain in self.labels.values():
            if isinstance(domain, tuple):
                total *= len(domain)
            elif isinstance(domain, Bounded):
                total *= domain.at_most
        return total


def _rules(metric: Metric) -> list[tuple[str, bool]]:
    """List every rule with whether this entry breaks it."""
    name = metric.name
    return [
        ("the name must match ^[a-z][a-z0-9_]*$", not _NAME.fullmatch(name)),
        (
            f"the name must begin with {_OWN_PREFIX} or an adopted prefix",
            not name.startswith((_OWN_PREFIX, *_ADOPTED_PREFIXES)),
        ),
        ("_total is for counters", name.endswith("_total") and metric.type != "counter"),
        ("a counter ends in _total", metric.type == "counter" and not name.endswith("_total")),
        (
            "the unit must be the end of the name",
            bool(metric.unit)
            and not name.removesuffix("_total").endswith(f"_{metric.unit}")
            and not name.endswith(f"_{metric.unit}_info"),
        ),
        ("only base units: seconds, bytes, ratio", name.endswith(_UNSPECIFIC_UNITS)),
        (
            "the end of the name is made by the histogram itself",
            name.startswith(_OWN_PREFIX) and name.endswith(_HISTOGRAM_SUFFIXES),
        ),
        ("_info is for gauges", name.endswith("_info") and metric.type != "gauge"),
        (
            "the help must be one sentence that ends with a full stop, without quotes",
            not metric.help.endswith(".") or any(c in metric.help for c in '"\\\n'),
        ),
        ("buckets must rise", list(metric.buckets) != sorted(set(metric.buckets))),
        (
            "labels must match ^[a-z][a-z0-9_]*$",
            not all(_NAME.fullmatch(label) for label in metric.labels),
        ),
        (
            "these labels belong to Prometheus: " + ", ".join(sorted(_RESERVED_LABELS)),
            not _RESERVED_LABELS.isdisjoint(metric.labels),
        ),
        (
            "a closed domain must list different values",
            any(
                isinstance(domain, tuple) and (not domain or len(domain) != len(set(domain)))
                for domain in metric.labels.values()
            ),
        ),
        (
            "only gauges describe objects",
            metric.is_state and metric.type != "gauge",
        ),
    ]
