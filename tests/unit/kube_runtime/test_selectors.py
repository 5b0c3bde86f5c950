import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime.selectors import NOTHING, InvalidSelector, LabelSelector


def expression(key: str, operator: str, *values: str) -> dict[str, object]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("raw", "labels", "matches"),
    [
        ({"matchLabels": {"app": "web"}}, {"app": "web", "x": "y"}, True),
        ({"matchLabels": {"app": "web"}}, {"app": "api"}, False),
        ({"matchLabels": {"app": "web"}}, {}, False),
        ({"matchLabels": {"app": ""}}, {"app": ""}, True),
        ({"matchLabels": {"app": ""}}, {}, False),
        (expression("env", "In", "a", "b"), {"env": "b"}, True),
        (expression("env", "In", "a", "b"), {"env": "c"}, False),
        (expression("env", "In", "a"), {}, False),
        (expression("env", "NotIn", "a"), {"env": "a"}, False),
        (expression("env", "NotIn", "a"), {"env": "b"}, True),
        (expression("env", "NotIn", "a"), {}, True),
        (expression("env", "Exists"), {"env": ""}, True),
        (expression("env", "Exists"), {}, False),
        (expression("env", "DoesNotExist"), {}, True),
        (expression("env", "DoesNotExist"), {"env": "a"}, False),
        ({"matchLabels": {"app": "web"}} | expression("env", "Exists"), {"app": "web"}, False),
    ],
)
def test_a_selector_matches_as_kubernetes_does(
    raw: dict[str, object], labels: dict[str, str], *, matches: bool
) -> None:
    assert LabelSelector.parse(raw).matches(labels) is matches


def test_an_empty_selector_matches_everything_and_an_absent_one_nothing() -> None:
    assert LabelSelector.parse({}).matches({"any": "thing"})
    assert LabelSelector.parse({}).is_empty
    assert not LabelSelector.parse(None).matches({})
    assert LabelSelector.parse(None) is NOTHING
    assert not NOTHING.is_empty


def test_it_is_written_as_kubectl_writes_it_sorted_by_key() -> None:
    selector = LabelSelector.parse(
        {
            "matchLabels": {"tier": "front", "app": "web"},
            "matchExpressions": [
                {"key": "zone", "operator": "NotIn", "values": ["b", "a", "a"]},
                {"key": "env", "operator": "In", "values": ["stage", "prod"]},
                {"key": "canary", "operator": "DoesNotExist"},
                {"key": "owner", "operator": "Exists", "values": []},
            ],
        }
    )

    assert selector.to_string() == (
        "app=web,!canary,env in (prod,stage),owner,tier=front,zone notin (a,b)"
    )


def test_the_order_in_the_manifest_does_not_matter() -> None:
    one = LabelSelector.parse({"matchLabels": {"a": "1", "b": "2"}})
    other = LabelSelector.of_labels({"b": "2", "a": "1"})

    assert one == other


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("app=web", "spec.selector: expected a mapping, found str"),
        ({"matchLabel": {}}, "unknown field 'matchLabel'"),
        ({"matchLabels": ["a"]}, "spec.selector.matchLabels: expected a mapping, found list"),
        ({"matchLabels": {"-a": "b"}}, "expected a label key ([prefix/]name), found '-a'"),
        ({"matchLabels": {"Prefix/a": "b"}}, "found 'Prefix/a'"),
        ({"matchLabels": {"/a": "b"}}, "found '/a'"),
        ({"matchLabels": {"a": "b c"}}, "spec.selector.matchLabels[a]: expected a label value"),
        ({"matchLabels": {"a": 1}}, "found 1"),
        ({"matchLabels": {"a": "x" * 64}}, "at most 63"),
        ({"matchExpressions": {}}, "matchExpressions: expected a list, found dict"),
        ({"matchExpressions": ["a"]}, "matchExpressions[0]: expected a mapping, found str"),
        (expression("a", "Is"), "expected one of In, NotIn, Exists, DoesNotExist, found 'Is'"),
        (expression("a", "In"), "In needs at least one value, found none"),
        (expression("a", "Exists", "b"), "Exists takes no values, found 1"),
        ({"matchExpressions": [{"operator": "Exists"}]}, "matchExpressions[0].key"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]}, "expected a list"),
        ({"matchExpressions": [{"key": "a", "op": "In"}]}, "unknown field 'op'"),
    ],
)
def test_a_selector_that_cannot_be_used_says_which_field_and_why(raw: object, message: str) -> None:
    with pytest.raises(InvalidSelector) as caught:
        LabelSelector.parse(raw)

    assert message in str(caught.value)
    assert caught.value.reason == "InvalidSelector"


NAMES = st.sampled_from(["a", "b", "c"])
LABELS = st.dictionaries(NAMES, NAMES)


@given(labels=LABELS, more=LABELS)
def test_an_object_is_selected_by_its_own_labels(
    labels: dict[str, str], more: dict[str, str]
) -> None:
    assert LabelSelector.of_labels(labels).matches(more | labels)


@given(labels=LABELS, key=NAMES, values=st.lists(NAMES, min_size=1))
def test_in_and_not_in_are_opposites(labels: dict[str, str], key: str, values: list[str]) -> None:
    included = LabelSelector.parse(expression(key, "In", *values)).matches(labels)
    excluded = LabelSelector.parse(expression(key, "NotIn", *values)).matches(labels)

    assert included is not excluded
