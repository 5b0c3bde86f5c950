"""Our encoder against prometheus_client's own, which it must agree with in everything but speed."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics import disable_created_metrics
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics

from exporters.encoding import encode

TEXT = st.text(st.sampled_from('"\\\nn a🙂{}=,') | st.characters(codec="utf-8"), max_size=8)
VALUES = st.floats() | st.integers(-5, 5).map(float)


@pytest.fixture(autouse=True, scope="module")
def _without_created() -> None:
    disable_created_metrics()  # type: ignore[no-untyped-call]


def _agrees(registry: CollectorRegistry) -> None:
    families = list(registry.collect())
    assert encode(families, "text") == generate_latest(registry)
    strict: bytes = generate_openmetrics(registry, version="1.0.0")  # type: ignore[no-untyped-call]
    assert encode(families, "openmetrics") + b"# EOF\n" == strict


@settings(max_examples=60)
@given(help_=TEXT, label=TEXT, value=VALUES)
def test_any_help_label_and_value_is_written_as_the_library_writes_it(
    help_: str, label: str, value: float
) -> None:
    registry = CollectorRegistry()
    Gauge("gauge", help_, ["b", "a"], registry=registry).labels(label, "x").set(value)
    Gauge("bare", help_, registry=registry).set(value)
    counter = Counter("things", help_, ["a"], registry=registry)
    counter.labels(label).inc(0.0 if math.isnan(value) or value < 0 else value)
    Histogram("wait", help_, ["a"], registry=registry).labels(label).observe(value)

    _agrees(registry)


def test_what_it_does_not_know_is_left_to_the_library() -> None:
    registry = CollectorRegistry()
    Info("thing", "An info.", registry=registry).info({"version": "1"})
    Counter("things", "With an exemplar.", registry=registry).inc(1, {"trace": "x"})

    _agrees(registry)
