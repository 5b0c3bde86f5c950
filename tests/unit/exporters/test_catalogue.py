"""The rules of the catalogue, and what the project has put into it."""

from pathlib import Path
from typing import Any

import pytest

from exporters.catalogue import CATALOGUE, joined
from exporters.catalogue.docs import document
from exporters.catalogue.metric import BadMetric, Bounded, Metric, PerObject

ROOT = Path(__file__).parents[3]
MAX_SERIES_PER_OBJECT = 18  # six conditions of three statuses
MAX_CHILDREN_PER_PROCESS = 256


def _metric(**changes: Any) -> Metric:
    good: dict[str, Any] = {
        "name": "levelset_things_total",
        "type": "counter",
        "help": "Things that happened.",
    }
    return Metric(**(good | changes))


def test_a_well_named_metric_is_accepted() -> None:
    metric = _metric(labels={"result": ("success", "error")})

    assert metric.series_per_target == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "levelset_Things_total"},
        {"name": "levelset.things_total"},
        {"name": "levelset_thinğs_total"},
        {"name": "things_total"},
        {"name": "levelset_things"},
        {"name": "levelset_things_total", "type": "gauge"},
        {"name": "levelset_wait", "type": "histogram", "unit": "seconds"},
        {"name": "levelset_wait_ms", "type": "histogram"},
        {"name": "levelset_things_count", "type": "gauge"},
        {"name": "levelset_thing_info", "type": "histogram"},
        {"help": "No full stop"},
        {"help": 'A "quoted" word.'},
        {"help": "Two\nlines."},
        {"labels": {"le": ("1",)}},
        {"labels": {"namespace": ("a",)}},
        {"labels": {"Result": ("a",)}},
        {"labels": {"result": ()}},
        {"labels": {"result": ("a", "a")}},
        {"labels": {"name": PerObject("an object")}},
        {"name": "levelset_wait_seconds", "type": "histogram", "buckets": (2.0, 1.0)},
    ],
)
def test_a_badly_declared_metric_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(BadMetric, match=r"^metric '"):
        _metric(**changes)


def test_the_same_name_twice_is_refused() -> None:
    with pytest.raises(BadMetric, match="declared twice"):
        joined([[_metric()], [_metric()]])


def test_children_start_at_zero_only_where_all_values_are_listed_and_few() -> None:
    listed = _metric(labels={"result": ("success", "error"), "mode": ("a", "b")})
    bounded = _metric(labels={"result": ("success", "error"), "code": Bounded("codes", 9)})
    many = _metric(labels={"a": tuple("abcdefghi"), "b": tuple("abcdefghi")})

    assert listed.closed_domains == (("success", "error"), ("a", "b"))
    assert bounded.closed_domains is None
    assert many.closed_domains is None


def test_no_object_has_more_series_in_a_family_than_the_budget() -> None:
    over = {
        metric.name: metric.series_per_target
        for metric in CATALOGUE.values()
        if metric.is_state and metric.series_per_target > MAX_SERIES_PER_OBJECT
    }

    assert over == {}


def test_no_family_of_a_process_has_more_children_than_the_budget() -> None:
    over = {
        metric.name: metric.series_per_target
        for metric in CATALOGUE.values()
        if metric.series_per_target > MAX_CHILDREN_PER_PROCESS
    }

    assert over == {}


def test_every_metric_is_made_by_somebody() -> None:
    packages = ("operator/workloads", "gitops_agent", "supply_chain", "exporters", "kube_runtime")
    source = "".join(
        path.read_text(encoding="utf-8")
        for package in packages
        for path in (ROOT / package).rglob("*.py")
        if "catalogue" not in path.parts
    )
    by_the_library = ("process_", "python_")

    unused = [n for n in CATALOGUE if n not in source and not n.startswith(by_the_library)]

    assert unused == []


def test_the_documentation_is_what_the_catalogue_says() -> None:
    committed = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")

    assert committed == document(), (
        "docs/metrics.md is not what the catalogue says: "
        "run `python -m exporters.catalogue.docs --write docs/metrics.md`"
    )
