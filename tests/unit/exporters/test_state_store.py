"""The byte store: what is put is on the page, what is deleted is gone, whatever happens between."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as text

from exporters.catalogue.metric import Metric, PerObject
from exporters.catalogue.state import OBJECT_METRICS
from exporters.state.kinds import WATCHED_KINDS
from exporters.state.store import Lines, StateStore
from exporters.state.text import escaped
from kube_runtime.resource import Json, Key

UNLIMITED = 10**9
FAMILIES = [
    Metric(
        name=f"levelset_{letter}", type="gauge", help="A test.", labels={"name": PerObject("it")}
    )
    for letter in "ab"
]


def _lines(name: str, value: int = 1) -> Lines:
    return {family.name: [f'{family.name}{{name="{name}"}} {value}\n'] for family in FAMILIES}


def _key(name: str) -> Key:
    return Key("shop", name)


@pytest.fixture
def store() -> StateStore:
    store = StateStore(FAMILIES, max_series_per_family=UNLIMITED)
    store.show("Rollout")
    store.show("Application")
    return store


def test_an_empty_store_is_an_empty_page(store: StateStore) -> None:
    assert store.page() == b""


def test_a_family_has_one_header_whatever_the_kinds_below_it(store: StateStore) -> None:
    store.put("Rollout", _key("x"), _lines("x"))
    store.put("Application", _key("y"), _lines("y"))

    assert store.page().decode() == (
        "# HELP levelset_a A test.\n# TYPE levelset_a gauge\n"
        'levelset_a{name="x"} 1\nlevelset_a{name="y"} 1\n'
        "# HELP levelset_b A test.\n# TYPE levelset_b gauge\n"
        'levelset_b{name="x"} 1\nlevelset_b{name="y"} 1\n'
    )


def test_an_update_replaces_the_lines_and_drops_the_families_that_are_gone(
    store: StateStore,
) -> None:
    store.put("Rollout", _key("x"), _lines("x"))

    store.put("Rollout", _key("x"), {"levelset_a": ['levelset_a{name="x"} 2\n']})

    assert b"levelset_b" not in store.page()
    assert b'levelset_a{name="x"} 2\n' in store.page()
    assert store.series == 1


def test_a_deleted_object_is_gone_from_the_next_page(store: StateStore) -> None:
    store.put("Rollout", _key("x"), _lines("x"))
    store.put("Rollout", _key("y"), _lines("y"))

    store.delete("Rollout", _key("x"))

    assert b'name="x"' not in store.page()
    assert store.series == 2


def test_deleting_what_is_not_there_does_nothing(store: StateStore) -> None:
    store.delete("Rollout", _key("x"))

    assert store.page() == b""


def test_a_kind_is_out_of_sight_until_it_is_shown() -> None:
    store = StateStore(FAMILIES, max_series_per_family=UNLIMITED)
    store.put("Rollout", _key("x"), _lines("x"))

    assert (store.page(), store.series) == (b"", 0)

    store.show("Rollout")
    assert (store.page().count(b'name="x"'), store.series) == (2, 2)


def test_a_kind_that_is_forgotten_is_gone_and_hidden(store: StateStore) -> None:
    store.put("Rollout", _key("x"), _lines("x"))
    store.put("Application", _key("y"), _lines("y"))

    store.forget("Rollout")
    store.put("Rollout", _key("z"), _lines("z"))

    assert b'name="y"' in store.page()
    assert b'name="x"' not in store.page()
    assert b'name="z"' not in store.page()


def test_a_family_over_its_limit_is_cut_and_the_cut_is_counted() -> None:
    store = StateStore(FAMILIES, max_series_per_family=3)
    store.show("Rollout")
    for number in range(5):
        store.put("Rollout", _key(f"x{number}"), _lines(f"x{number}"))

    page = store.page()

    assert page.count(b"levelset_a{") == 3
    assert (store.series, store.series_dropped) == (6, 4)


def test_what_the_limit_kept_out_comes_back_when_there_is_room() -> None:
    store = StateStore(FAMILIES, max_series_per_family=1)
    store.show("Rollout")
    store.put("Rollout", _key("x"), _lines("x"))
    store.put("Rollout", _key("y"), _lines("y"))

    store.delete("Rollout", _key("x"))

    assert b'levelset_a{name="y"} 1' in store.page()
    assert store.series_dropped == 0


class StoreMachine(RuleBasedStateMachine):
    """The store against a plain dictionary, under any order of changes."""

    def __init__(self) -> None:
        super().__init__()
        self.store = StateStore(FAMILIES, max_series_per_family=UNLIMITED)
        self.model: dict[tuple[str, Key], int] = {}
        self.shown: set[str] = set()

    @rule(kind=st.sampled_from("KL"), name=st.sampled_from("pqr"), value=st.integers(0, 9))
    def put(self, kind: str, name: str, value: int) -> None:
        self.store.put(kind, _key(name), _lines(kind + name, value))
        self.model[kind, _key(name)] = value

    @rule(kind=st.sampled_from("KL"), name=st.sampled_from("pqr"))
    def delete(self, kind: str, name: str) -> None:
        self.store.delete(kind, _key(name))
        self.model.pop((kind, _key(name)), None)

    @rule(kind=st.sampled_from("KL"))
    def show(self, kind: str) -> None:
        self.store.show(kind)
        self.shown.add(kind)

    @rule(kind=st.sampled_from("KL"))
    def forget(self, kind: str) -> None:
        self.store.forget(kind)
        self.shown.discard(kind)
        self.model = {key: value for key, value in self.model.items() if key[0] != kind}

    @invariant()
    def the_page_holds_exactly_the_model_of_what_is_shown(self) -> None:
        lines = {line for line in self.store.page().decode().splitlines() if line[0] != "#"}
        expected = {
            f'{family.name}{{name="{kind}{key.name}"}} {value}'
            for (kind, key), value in self.model.items()
            if kind in self.shown
            for family in FAMILIES
        }
        assert lines == expected
        assert self.store.series == len(lines)


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(max_examples=40, stateful_step_count=25)

RESERVED = st.text(st.sampled_from('"\\\nn'), min_size=1, max_size=4)
NASTY = RESERVED | st.text(
    st.sampled_from('"\\\n\r\t{}=,#n 🙂\u2028\x00') | st.characters(codec="utf-8"),
    min_size=1,
    max_size=12,
)
CONDITION = st.fixed_dictionaries(
    {"type": st.sampled_from(["Ready", "Stalled", "Other"]) | NASTY, "status": NASTY}
)
OBJECTS = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"namespace": NASTY, "name": NASTY, "uid": NASTY, "generation": st.integers(0, 9)},
            optional={"creationTimestamp": NASTY},
        ),
        "spec": st.fixed_dictionaries(
            {}, optional={"project": NASTY, "replicas": st.integers(0, 9), "paused": st.booleans()}
        ),
        "status": st.fixed_dictionaries(
            {},
            optional={
                "conditions": st.lists(CONDITION, max_size=4),
                "sync": st.fixed_dictionaries({"status": NASTY}),
                "health": st.fixed_dictionaries({"status": NASTY}),
                "replicas": st.integers(0, 9),
            },
        ),
    }
)


def test_what_the_format_reserves_is_escaped() -> None:
    assert escaped('a\\b"c\nd') == r"a\\b\"c\nd"


@given(st.lists(st.tuples(st.sampled_from(WATCHED_KINDS), OBJECTS), max_size=8))
def test_any_objects_make_a_page_that_parses_without_doubles(
    objects: list[tuple[Any, Json]],
) -> None:
    store = StateStore(OBJECT_METRICS, max_series_per_family=UNLIMITED)
    for kind, obj in objects:
        store.put(kind.name, Key.of(obj), kind.render(obj))
        store.show(kind.name)

    page = store.page().decode()

    headers = [line for line in page.split("\n") if line.startswith("# TYPE")]
    assert len(headers) == len(set(headers))
    families: list[Family] = list(text(page))
    samples = _samples(families)
    assert len(samples) == len(set(samples)) == store.series
    identities = {(kind.name, str(Key.of(obj))) for kind, obj in objects}
    shown = {
        (labels["kind"], str(Key(labels["exported_namespace"], labels["name"])))
        for labels in (dict(pairs) for name, pairs in samples if name == "levelset_resource_info")
    }
    assert shown == identities
    strict: list[Family] = list(openmetrics(page + "# EOF\n"))  # type: ignore[no-untyped-call]
    assert _samples(strict) == samples


def _samples(families: Iterable[Family]) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    return [
        (sample.name, tuple(sorted(sample.labels.items())))
        for family in families
        for sample in family.samples
    ]
