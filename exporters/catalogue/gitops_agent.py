"""The metrics of the GitOps agent; the part owns this file, its metrics.py observes them."""

from __future__ import annotations

from exporters.catalogue.metric import Metric

METRICS: tuple[Metric, ...] = ()
