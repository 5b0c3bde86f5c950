"""What a scrape costs: of a controller, and of an exporter with 100,000 series of state."""

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable

import aiohttp
import pytest
from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.exposition import generate_latest

from exporters.catalogue import CATALOGUE
from exporters.catalogue.metric import Metric
from exporters.catalogue.state import OBJECT_METRICS
from exporters.certificates import SelfSigned
from exporters.instrument import Instruments
from exporters.server import MetricsServer
from exporters.state.kinds import WATCHED_KINDS
from exporters.state.store import StateStore
from kube_runtime.resource import Json, Key
from tests.bench.results import record
from tests.contract.exporters.support import serving

pytestmark = pytest.mark.bench

CONTROLLER_FLOOR_MS = 20.0
OBJECTS = 5_000
STALL_FLOOR_MS = 50.0
ROLLOUT = next(kind for kind in WATCHED_KINDS if kind.name == "Rollout")


def _busy_process() -> Instruments:
    """More than any of our processes has: every instrument of the catalogue, eight controllers."""
    instruments = Instruments("bench")
    make = {
        "counter": instruments.counter,
        "gauge": instruments.gauge,
        "histogram": instruments.histogram,
    }
    for metric in CATALOGUE.values():
        if not metric.is_state and not metric.name.startswith(("process_", "python_")):
            make[metric.type](metric.name)
    for number in range(8):
        name = f"controller-{number}"
        instruments.runtime.controller_started(name, 5)
        instruments.runtime.queue_latency(name, 0.001)
        instruments.runtime.work_duration(name, 0.001)
        instruments.runtime.queue_unfinished(name, 0.0, 0.0)
        instruments.runtime.list_result(name, ok=True)
        instruments.runtime.request_finished("GET", "200", "127.0.0.1:6443", 0.01)
    return instruments


def _rollout(number: int) -> Json:
    conditions = [
        {"type": name, "status": "True"}
        for name in ("Ready", "Reconciling", "Stalled", "Available", "Progressing")
    ]
    counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return {
        "metadata": {
            "namespace": f"team-{number % 50}",
            "name": f"web-{number}",
            "uid": str(number),
            "generation": 3,
            "creationTimestamp": "2026-11-30T12:00:00Z",
        },
        "spec": {"replicas": 3},
        "status": {
            "observedGeneration": 3,
            "conditions": conditions,
            **dict.fromkeys(counts, 3),
        },
    }


def _server(instruments: Instruments, *extra: Callable[[], bytes]) -> MetricsServer:
    return MetricsServer(
        instruments,
        host="127.0.0.1",
        port=0,
        tls=SelfSigned("127.0.0.1"),
        auth=None,
        ready=lambda: True,
        extra=extra,
    )


async def _milliseconds(action: Callable[[], Awaitable[object]], times: int) -> list[float]:
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        await action()
        found.append((time.perf_counter() - begin) * 1000)
    return sorted(found)


async def _get(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url, ssl=False, headers={"Accept-Encoding": "gzip"}) as answer:
        return await answer.read()


async def test_a_scrape_of_a_controller_is_fast() -> None:
    instruments = _busy_process()
    lines = instruments.registry.render("text").count(b"\n")
    async with serving(_server(instruments)) as server, aiohttp.ClientSession() as session:
        url = f"https://127.0.0.1:{server.port}/metrics"
        await _get(session, url)

        begin = time.process_time()
        found = await _milliseconds(lambda: _get(session, url), 100)
        cpu_ms = (time.process_time() - begin) * 1000 / 100  # the scraper's part included

    median = statistics.median(found)
    record(
        "scrape of a controller, over TLS, compressed",
        lines=lines,
        median_ms=round(median, 2),
        p99_ms=round(found[98], 2),
        cpu_ms=round(cpu_ms, 2),
        floor_ms=CONTROLLER_FLOOR_MS,
    )
    assert median < CONTROLLER_FLOOR_MS


async def test_a_scrape_of_a_hundred_thousand_state_series_is_a_join() -> None:
    store = StateStore(OBJECT_METRICS, max_series_per_family=10**9)
    objects = [_rollout(number) for number in range(OBJECTS)]
    begin = time.thread_time()
    for obj in objects:
        store.put(ROLLOUT.name, Key.of(obj), ROLLOUT.render(obj))
    update_us = (time.thread_time() - begin) / OBJECTS * 1e6
    store.show(ROLLOUT.name)
    assert store.series > 100_000

    joins = []
    for _ in range(20):
        begin = time.thread_time()
        page = store.page()
        joins.append((time.thread_time() - begin) * 1000)
    baseline_ms = _prometheus_client_ms(store.series)
    async with serving(_server(Instruments("bench"), store.page)) as server:
        url = f"https://127.0.0.1:{server.port}"
        async with aiohttp.ClientSession() as session:
            whole = await _milliseconds(lambda: _get(session, f"{url}/metrics"), 10)
            stalls = await _probe_while(session, url, scrapes=5)

    join_ms = statistics.median(joins)
    record(
        "scrape of 100,000 state series",
        series=store.series,
        page_mb=round(len(page) / 1e6, 1),
        join_cpu_ms=round(join_ms, 2),
        whole_scrape_ms=round(statistics.median(whole), 1),
        prometheus_client_cpu_ms=round(baseline_ms, 1),
        times_faster=round(baseline_ms / join_ms),
        update_cpu_us=round(update_us, 1),
        probe_median_ms=round(statistics.median(stalls), 1),
        probe_longest_ms=round(stalls[-1], 1),
    )
    assert join_ms < STALL_FLOOR_MS  # the loop is held up by the join alone
    assert baseline_ms / join_ms > 20


async def _probe_while(session: aiohttp.ClientSession, url: str, *, scrapes: int) -> list[float]:
    """Ask for /healthz while pages are rendered; sorted milliseconds."""
    running = [asyncio.create_task(_get(session, f"{url}/metrics")) for _ in range(scrapes)]
    found = []
    while not all(task.done() for task in running):
        found += await _milliseconds(lambda: _get(session, f"{url}/healthz"), 1)
    return sorted(found)


def _prometheus_client_ms(series: int) -> float:
    """Render as many series the usual way: gauges with children, median of three."""
    registry = CollectorRegistry()
    per_family = series // 20
    for family in range(20):
        metric: Metric = OBJECT_METRICS[2]
        gauge = Gauge(f"family_{family}", metric.help, list(metric.labels), registry=registry)
        for number in range(per_family):
            gauge.labels("Rollout", f"team-{number % 50}", f"web-{number}").set(3)
    found = []
    for _ in range(3):
        begin = time.thread_time()
        generate_latest(registry)
        found.append((time.thread_time() - begin) * 1000)
    return statistics.median(found)
