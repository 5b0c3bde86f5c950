"""The catalogue: the only place where a metric is born.

One module for each part, each with a tuple `METRICS`; this package joins them and refuses doubles.
Instruments are made from it by name, docs/metrics.md is generated from it, rules and dashboards are
checked against it. A part adds its entries in its own module and touches nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from exporters.catalogue import (
    gitops_agent,
    process,
    runtime,
    self_metrics,
    state,
    supply_chain,
    workloads,
)
from exporters.catalogue.metric import BadMetric, Bounded, Domain, Metric, PerObject

__all__ = [
    "CATALOGUE",
    "SECTIONS",
    "BadMetric",
    "Bounded",
    "Domain",
    "Metric",
    "PerObject",
    "joined",
]

SECTIONS: Mapping[str, tuple[Metric, ...]] = MappingProxyType(
    {
        "Object state": state.METRICS,
        "Workloads controllers": workloads.METRICS,
        "GitOps agent": gitops_agent.METRICS,
        "Supply chain": supply_chain.METRICS,
        "Controllers, queues and API client (every process)": runtime.METRICS,
        "The metrics server itself (every process)": self_metrics.METRICS,
        "The Python process (every process)": process.METRICS,
    },
)
"""Heading in docs/metrics.md to the entries below it, in this order."""


def joined(sections: Iterable[Iterable[Metric]]) -> Mapping[str, Metric]:
    """Join entries into one mapping by name; the same name twice is an error."""
    catalogue: dict[str, Metric] = {}
    for metric in (metric for section in sections for metric in section):
        if metric.name in catalogue:
            raise BadMetric(f"metric {metric.name!r}: declared twice; one name, one entry")
        catalogue[metric.name] = metric
    return MappingProxyType(catalogue)


CATALOGUE: Mapping[str, Metric] = joined(SECTIONS.values())
"""Every metric of the project by name."""
