"""Instruments made from the catalogue, and the registry that renders them."""

import logging
from collections.abc import Iterable

import pytest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text
from prometheus_client.registry import Collector

from exporters.catalogue import CATALOGUE
from exporters.encoding import END_OF_OPENMETRICS
from exporters.errors import ExportersError, UnknownMetric
from exporters.instrument import Instruments
from kube_runtime.instrumentation import RECONCILE_RESULTS, Instrumentation


class _Broken(Collector):
    def collect(self) -> Iterable[Family]:
        raise RuntimeError("a bug")

    def __str__(self) -> str:
        return "broken"


def _value(instruments: Instruments, name: str, **labels: str) -> float | None:
    return instruments.registry.get_sample_value(name, labels)


def test_the_same_name_gives_the_same_instrument() -> None:
    instruments = Instruments("test")

    first = instruments.counter("levelset_events_dropped_total")

    assert instruments.counter("levelset_events_dropped_total") is first


def test_a_name_that_the_catalogue_lacks_is_a_key_error_that_says_what_to_do() -> None:
    with pytest.raises(KeyError) as caught:
        Instruments("test").counter("levelset_nonsense_total")

    assert isinstance(caught.value, UnknownMetric)
    assert "levelset_nonsense_total" in str(caught.value)
    assert "exporters/catalogue/" in caught.value.diagnostics()


def test_an_entry_of_another_type_is_refused() -> None:
    instruments = Instruments("test")

    with pytest.raises(UnknownMetric, match="as counter, not as gauge"):
        instruments.gauge("levelset_events_dropped_total")


def test_state_of_objects_cannot_be_instrumented() -> None:
    with pytest.raises(UnknownMetric, match="state store alone"):
        Instruments("test").gauge("levelset_resource_info")


def test_listed_label_values_are_zero_before_anything_happened() -> None:
    instruments = Instruments("test")

    instruments.counter("levelset_metrics_requests_total")

    assert _value(instruments, "levelset_metrics_requests_total", code="401") == 0.0


def test_two_processes_in_one_interpreter_do_not_collide() -> None:
    first, second = Instruments("first"), Instruments("second")

    first.runtime.event_dropped()

    assert _value(first, "levelset_events_dropped_total") == 1.0
    assert _value(second, "levelset_events_dropped_total") == 0.0


def test_multiprocess_mode_is_refused_with_the_variable_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", "/somewhere")

    with pytest.raises(ExportersError, match="PROMETHEUS_MULTIPROC_DIR: expected unset"):
        Instruments("test")


def test_every_outcome_of_a_controller_is_zero_once_it_runs() -> None:
    instruments = Instruments("test")

    instruments.runtime.controller_started("podset", 5)

    for result in RECONCILE_RESULTS:
        labels = {"controller": "podset", "result": result}
        assert _value(instruments, "controller_runtime_reconcile_total", **labels) == 0.0


def test_a_failed_reconcile_counts_as_a_result_and_as_an_error() -> None:
    instruments = Instruments("test")

    instruments.runtime.reconcile_finished("podset", "error", 0.2)

    labels = {"controller": "podset"}
    assert _value(instruments, "controller_runtime_reconcile_errors_total", **labels) == 1.0
    name = "controller_runtime_reconcile_time_seconds_bucket"
    assert _value(instruments, name, le="0.25", **labels) == 1.0
    assert _value(instruments, name, le="0.1", **labels) == 0.0


def test_every_call_of_the_runtime_is_counted() -> None:
    ours = vars(type(Instruments("test").runtime))

    missing = [name for name in vars(Instrumentation) if not name.startswith("_")]

    assert [name for name in missing if name not in ours] == []


def test_the_runtime_can_tell_everything_and_both_formats_parse() -> None:
    instruments = Instruments("test")
    _tell_everything(instruments.runtime)

    as_text = instruments.registry.render("text").decode()
    as_openmetrics = (instruments.registry.render("openmetrics") + END_OF_OPENMETRICS).decode()

    families: list[Family] = list(text(as_text))
    names = {sample.name for family in families for sample in family.samples}
    assert {"rest_client_requests_total", "leader_election_master_status"} <= names
    assert len(list(openmetrics(as_openmetrics))) == len(families)  # type: ignore[no-untyped-call]


def test_every_family_on_the_page_is_in_the_catalogue() -> None:
    instruments = Instruments("test")
    _tell_everything(instruments.runtime)

    page = instruments.registry.render("text").decode()

    declared = [line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")]
    assert [name for name in declared if name not in CATALOGUE] == []
    assert len(declared) == len(set(declared))


def test_a_collector_that_fails_costs_its_own_families_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    instruments = Instruments("test")
    instruments.registry.register(_Broken())

    with caplog.at_level(logging.ERROR):
        for _ in range(3):
            page = instruments.registry.render("text").decode()

    assert "levelset_build_info" in page
    assert _value(instruments, "levelset_metrics_collect_errors_total", collector="broken") == 3.0
    assert [record.message for record in caplog.records] == ["collector failed"]


def _tell_everything(runtime: Instrumentation) -> None:
    runtime.controller_started("podset", 5)
    runtime.reconcile_finished("podset", "success", 0.01)
    runtime.reconcile_panicked("podset")
    runtime.reconcile_timed_out("podset")
    runtime.active_workers("podset", 1)
    runtime.queue_added("podset")
    runtime.queue_depth("podset", 1)
    runtime.queue_latency("podset", 0.001)
    runtime.work_duration("podset", 0.001)
    runtime.queue_retry("podset")
    runtime.queue_unfinished("podset", 2.0, 1.0)
    runtime.request_finished("GET", "200", "127.0.0.1:6443", 0.01)
    runtime.leader("levelset-workloads", is_leading=True)
    runtime.list_result("Pod", ok=True)
    runtime.watch_result("Pod", ok=False)
    runtime.watch_restarted("Pod", "Gone")
    runtime.store_size("Pod", 7)
    runtime.informer_stale("Pod")
    runtime.event_dropped()
