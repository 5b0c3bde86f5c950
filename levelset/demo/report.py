"""Step: Prometheus is asked, over its HTTP API, for the counters and histograms of all four controllers."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rich.table import Table

from levelset.demo import waiting
from levelset.demo.controllers import ACCOUNTS
from levelset.demo.errors import require
from levelset.demo.narrator import Step
from local_cluster.services.prometheus import Prometheus, Sample

_TIMEOUT_SECONDS = 30.0


def _count(value: float) -> str:
    return f"{value:,.0f}"


def _milliseconds(value: float) -> str:
    return f"{value * 1000:.1f} ms"


def _megabytes(value: float) -> str:
    return f"{value / 1e6:.0f} MB"


def _seconds(value: float) -> str:
    return f"{value:.1f} s"


def _quantile(histogram: str, quantile: float) -> str:
    return f"histogram_quantile({quantile}, sum by (job, le) ({histogram}_bucket))"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: a query that yields a sample for each job."""

    title: str
    query: str
    show: Callable[[float], str] = _count


@dataclass(frozen=True, slots=True)
class OwnMetric:
    """A counter's value, or a histogram's count with two of its quantiles."""

    name: str
    value: float
    median: float = math.nan
    p99: float = math.nan


ROWS: Sequence[Row] = (
    Row("reconciles", "sum by (job) (controller_runtime_reconcile_total)"),
    Row("of them failed", "sum by (job) (controller_runtime_reconcile_errors_total)"),
    Row(
        "reconcile time, median",
        _quantile("controller_runtime_reconcile_time_seconds", 0.5),
        _milliseconds,
    ),
    Row(
        "reconcile time, p99",
        _quantile("controller_runtime_reconcile_time_seconds", 0.99),
        _milliseconds,
    ),
    Row("keys put into queues", "sum by (job) (workqueue_adds_total)"),
    Row(
        "wait in the queue, p99", _quantile("workqueue_queue_duration_seconds", 0.99), _milliseconds
    ),
    Row("requests to the API server", "sum by (job) (rest_client_requests_total)"),
    Row(
        "of them refused or failed",
        'sum by (job) (rest_client_requests_total{code!~"2.."}) or 0 * sum by (job) (up)',
    ),
    Row(
        "request time, p99", _quantile("rest_client_request_duration_seconds", 0.99), _milliseconds
    ),
    Row("scrapes answered", 'sum by (job) (levelset_metrics_requests_total{code="200"})'),
    Row("holds its lease", "max by (job) (leader_election_master_status)"),
    Row("resident memory", "process_resident_memory_bytes", _megabytes),
    Row("processor time", "process_cpu_seconds_total", _seconds),
)
_OF_EVERY_PROCESS = ("levelset_metrics_", "levelset_event_loop_", "levelset_informer_")
_STATE_SERIES = 'sum(levelset_exporter_series{job="exporters"})'
_OWN_COUNTERS = 'sum by (job, __name__) ({{job="{job}",__name__=~"levelset_.+_total"}}) > 0'
_OWN_HISTOGRAMS = 'sum by (job, __name__) ({{job="{job}",__name__=~"levelset_.+_count"}}) > 0'


async def play(prometheus: Prometheus, step: Step) -> None:
    """Wait until all four are scraped, ask, and print the tables."""
    await waiting.until(
        "a scrape of each controller",
        lambda: _missing(prometheus),
        timeout_seconds=_TIMEOUT_SECONDS,
    )
    answers = [(row, by_job(await prometheus.query(row.query))) for row in ROWS]
    step.console.print(runtime_table(answers))
    own = {part: await _own(prometheus, part) for part in ACCOUNTS}
    step.console.print(own_table(own))
    for part in ACCOUNTS:
        require(bool(own[part]), f"{part} exposes no metric of its own that has counted anything")
    asked = sum(len(values) for _, values in answers) + sum(len(found) for found in own.values())
    step.summary = f"4 of 4 targets up, {asked} values"


async def _missing(prometheus: Prometheus) -> str:
    targets = {t.job: t for t in await prometheus.targets()}
    down = [
        f"{part}: {targets[part].last_error if part in targets else 'no target'}"
        for part in ACCOUNTS
        if part not in targets or targets[part].health != "up"
    ]
    return "; ".join(down)


async def _own(prometheus: Prometheus, part: str) -> list[OwnMetric]:
    """Return the part's own counters and histograms that have counted anything."""
    found = [
        OwnMetric(sample.labels["__name__"], sample.value)
        for sample in await prometheus.query(_OWN_COUNTERS.format(job=part))
    ]
    for sample in await prometheus.query(_OWN_HISTOGRAMS.format(job=part)):
        name = sample.labels["__name__"].removesuffix("_count")
        quantiles = [await _own_quantile(prometheus, part, name, q) for q in (0.5, 0.99)]
        found.append(OwnMetric(name, sample.value, *quantiles))
    if part == "exporters":
        families = await prometheus.query(_STATE_SERIES)
        found += [OwnMetric("series of object state", s.value) for s in families]
        return found
    return [metric for metric in found if not metric.name.startswith(_OF_EVERY_PROCESS)]


async def _own_quantile(prometheus: Prometheus, part: str, name: str, quantile: float) -> float:
    buckets = f'sum by (le) ({name}_bucket{{job="{part}"}})'
    samples = await prometheus.query(f"histogram_quantile({quantile}, {buckets})")
    return samples[0].value if samples else math.nan


def by_job(samples: Sequence[Sample]) -> dict[str, float]:
    """Return the values by job, without those that are not numbers: an empty histogram's quantile."""
    return {s.labels["job"]: s.value for s in samples if not math.isnan(s.value)}


def runtime_table(answers: Sequence[tuple[Row, Mapping[str, float]]]) -> Table:
    """Compare the four controllers by what all of them report."""
    table = Table(title="What Prometheus has of the controllers", title_justify="left")
    table.add_column("")
    for part in ACCOUNTS:
        table.add_column(part, justify="right")
    for row, values in answers:
        shown = [row.show(values[part]) if part in values else "-" for part in ACCOUNTS]
        table.add_row(row.title, *shown)
    return table


def own_table(own: Mapping[str, Sequence[OwnMetric]]) -> Table:
    """List what each part counts of its own work; histograms with median and 99th percentile."""
    table = Table(title="What each of them counts of its own work", title_justify="left")
    table.add_column("controller")
    table.add_column("counter or histogram")
    for column in ("count", "median", "p99"):
        table.add_column(column, justify="right")
    for part, metrics in own.items():
        for metric in sorted(metrics, key=lambda m: m.name):
            quantiles = (metric.median, metric.p99)
            shown = ["" if math.isnan(q) else _own_unit(metric.name)(q) for q in quantiles]
            table.add_row(part, metric.name, _count(metric.value), *shown)
        table.add_section()
    return table


def _own_unit(name: str) -> Callable[[float], str]:
    return _milliseconds if name.endswith("_seconds") else _count
