"""The prediction of a server-side apply: three sides in, one object out."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_agent.diff.merge import predict
from gitops_agent.diff.schema import ANY, Schema, resolve
from kube_runtime.resource import Json

# A loaded machine is no failure, and all unit tests together take seconds.
BRIEF = settings(max_examples=40, deadline=None)


QUANTITY = "io.k8s.apimachinery.pkg.api.resource.Quantity"
PORTS: Json = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
    "items": {
        "type": "object",
        "properties": {
            "containerPort": {"type": "integer"},
            "protocol": {"type": "string", "default": "TCP"},
            "name": {"type": "string"},
        },
    },
}
SCHEMA = resolve(
    {
        "type": "object",
        "properties": {
            "ports": PORTS,
            "finalizers": {"type": "array", "x-kubernetes-list-type": "set"},
            "command": {"type": "array"},
            "selector": {"type": "object", "x-kubernetes-map-type": "atomic"},
            "limits": {"additionalProperties": {"$ref": f"#/components/schemas/{QUANTITY}"}},
            "volume": {"allOf": [{"$ref": "#/components/schemas/Volume"}], "default": {}},
            "maybe": {"type": "string", "nullable": True},
        },
    },
    {QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]}, "Volume": {"type": "object"}},
)


def test_what_git_names_is_put_in_and_all_else_stays() -> None:
    live = {"spec": {"replicas": 3, "paused": False}, "other": 1}

    assert predict(live, {"spec": {"replicas": 5}}, {}, ANY) == {
        "spec": {"replicas": 5, "paused": False},
        "other": 1,
    }


def test_a_field_of_ours_that_left_git_goes_and_one_of_others_stays() -> None:
    live = {"data": {"ours": "1", "theirs": "2"}}

    owned: Json = {"f:data": {"f:ours": {}}}

    assert predict(live, {"data": {}}, owned, ANY) == {"data": {"theirs": "2"}}
    assert predict(live, {}, owned, ANY) == {"data": {"theirs": "2"}}


def test_a_part_that_was_all_ours_goes_as_a_whole() -> None:
    live = {"data": {"ours": "1"}, "kind": "X"}

    assert predict(live, {"kind": "X"}, {"f:data": {"f:ours": {}}}, ANY) == {"kind": "X"}


def test_without_a_record_of_ours_nothing_is_taken_out() -> None:
    live = {"data": {"a": "1", "b": "2"}}

    assert predict(live, {"data": {"a": "1"}}, {}, ANY) == live


def test_quantities_are_equal_by_value_only_where_the_schema_says_so() -> None:
    live = {"limits": {"cpu": "1", "memory": "3Gi"}, "text": "1"}

    predicted = predict(
        live, {"limits": {"cpu": "1000m", "memory": "3072Mi"}, "text": "1000m"}, {}, SCHEMA
    )

    assert predicted["limits"] == live["limits"]
    assert predicted["text"] == "1000m"


def test_a_number_and_its_text_differ_and_a_float_and_its_integer_do_not() -> None:
    assert predict({"a": 80}, {"a": "80"}, {}, ANY) == {"a": "80"}
    assert predict({"a": True}, {"a": 1}, {}, ANY)["a"] is not True
    assert isinstance(predict({"a": 1}, {"a": 1.0}, {}, ANY)["a"], int)


def test_items_are_matched_by_all_their_keys_with_defaults() -> None:
    live = {
        "ports": [
            {"containerPort": 53, "protocol": "UDP"},
            {"containerPort": 53, "protocol": "TCP", "name": "dns"},
        ]
    }

    predicted = predict(live, {"ports": [{"containerPort": 53, "name": "new"}]}, {}, SCHEMA)

    assert predicted["ports"] == [
        {"containerPort": 53, "protocol": "UDP"},
        {"containerPort": 53, "protocol": "TCP", "name": "new"},
    ]


def test_an_item_of_ours_that_left_git_goes_and_one_of_others_stays() -> None:
    live = {
        "ports": [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 2, "protocol": "TCP"}]
    }
    owned: Json = {
        "f:ports": {'k:{"containerPort":1,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}}
    }

    predicted = predict(live, {"ports": []}, owned, SCHEMA)

    assert predicted["ports"] == [{"containerPort": 2, "protocol": "TCP"}]


def test_another_order_of_items_is_a_difference() -> None:
    first, second = {"containerPort": 1, "protocol": "TCP"}, {"containerPort": 2, "protocol": "TCP"}

    predicted = predict({"ports": [first, second]}, {"ports": [second, first]}, {}, SCHEMA)

    assert predicted["ports"] == [second, first]


def test_a_set_is_united_and_loses_what_was_ours() -> None:
    live = {"finalizers": ["theirs", "old"]}
    owned: Json = {"f:finalizers": {'v:"old"': {}}}

    assert predict(live, {"finalizers": ["new"]}, owned, SCHEMA)["finalizers"] == ["theirs", "new"]


def test_atomic_parts_are_replaced_as_a_whole() -> None:
    live = {"command": ["a", "b"], "selector": {"a": "1", "b": "2"}}

    predicted = predict(live, {"command": ["a"], "selector": {"a": "1"}}, {}, SCHEMA)

    assert predicted == {"command": ["a"], "selector": {"a": "1"}}


def test_null_means_not_set_unless_the_schema_makes_it_a_value() -> None:
    assert predict({"x": 1}, {"y": None}, {}, SCHEMA) == {"x": 1}
    assert predict({}, {"maybe": None}, {}, SCHEMA) == {"maybe": None}


def test_the_same_key_twice_is_left_to_the_server() -> None:
    twice = [{"containerPort": 1}, {"containerPort": 1}]

    assert (
        predict({"ports": [{"containerPort": 1}]}, {"ports": twice}, {}, SCHEMA)["ports"] == twice
    )


_leaf = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
_value = st.recursive(
    _leaf,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=12,
)
_object = st.dictionaries(st.sampled_from("abcd"), _value, max_size=4)


@BRIEF
@given(_object, _object)
def test_what_was_predicted_needs_no_further_change(live: Json, desired: Json) -> None:
    once = predict(live, desired, {}, ANY)

    assert predict(once, desired, {}, ANY) == once


@BRIEF
@given(_object, _object)
def test_nothing_of_others_is_lost_and_neither_side_is_changed(live: Json, desired: Json) -> None:
    before = repr((live, desired))

    predicted = predict(live, desired, {}, ANY)

    assert set(live) <= set(predicted)
    assert repr((live, desired)) == before


@BRIEF
@given(_object)
def test_an_object_that_is_as_declared_is_no_difference(obj: Json) -> None:
    live = _without_null(obj)

    assert predict(live, live, {}, ANY) == live


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_null(v) for k, v in value.items() if v is not None}
    return [_without_null(v) for v in value] if isinstance(value, list) else value


@BRIEF
@given(_object)
def test_every_schema_answers_for_every_object(obj: Json) -> None:
    schema = Schema(obj, {})

    predict({"a": [1], "b": {"c": 1}}, {"a": [2], "b": {"c": 2}}, {}, schema)
