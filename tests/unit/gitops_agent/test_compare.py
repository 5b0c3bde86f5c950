"""The printed difference: there if and only if there is one, and never with a secret."""

import base64
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_agent.diff.compare import compare
from gitops_agent.errors import RenderFailed
from gitops_agent.objects import GroupKind, Manifest, ObjectId, Redactor
from kube_runtime.resource import Json

# A loaded machine is no failure, and all unit tests together take seconds.
BRIEF = settings(max_examples=40, deadline=None)


ID = ObjectId(GroupKind("", "ConfigMap"), "ns", "a")


def _object(**content: object) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, **content}


def _secret(**data: str) -> Json:
    coded = {name: base64.b64encode(value.encode()).decode() for name, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": coded}


def test_the_same_object_is_no_difference_whatever_the_server_has_added() -> None:
    live = _object(data={"a": "1"}, status={"x": 1})
    live["metadata"] |= {"uid": "u", "resourceVersion": "7", "managedFields": [{}], "generation": 3}

    assert not compare(ID, live, _object(data={"a": "1"}))


def test_a_change_is_printed_with_its_path() -> None:
    diff = compare(ID, _object(data={"a": "1", "b": "2"}), _object(data={"a": "1", "b": "3"}))

    assert diff.paths == (".data.b",)
    assert "-  b: '2'" in diff.text
    assert "+  b: '3'" in diff.text
    assert diff.text.startswith("--- live  ConfigMap ns/a\n+++ git   ConfigMap ns/a\n")


def test_texts_too_long_to_be_matched_are_printed_from_the_first_to_the_last_change() -> None:
    before = [f"l{number % 1500}" for number in range(10_000)]
    after = before[:5_000] + ["x"] * 10 + before[5_001:6_000] + ["y"] + before[6_001:]

    began = time.process_time()
    diff = compare(ID, _object(items=before), _object(items=after))

    assert time.process_time() - began < 10.0
    lines = diff.text.splitlines()
    assert lines[2] == "@@ -5003,1001 +5003,1010 @@"
    assert lines[3] == f"-- {before[5_000]}"
    assert lines[-1] == "+- y"


def test_an_object_that_comes_or_goes_is_printed_whole() -> None:
    assert compare(ID, None, _object()).action == "create"
    assert compare(ID, _object(), None).action == "prune"
    assert "-kind: ConfigMap" in compare(ID, _object(), None).text


def test_true_and_one_differ() -> None:
    assert compare(ID, _object(a=True), _object(a=1))


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=8,
)


@BRIEF
@given(_json, _json)
def test_there_is_print_if_and_only_if_there_is_a_difference(one: object, other: object) -> None:
    diff = compare(ID, _object(spec=one), _object(spec=other))

    is_same = repr(_sorted(one)) == repr(_sorted(other))
    assert bool(diff) is not is_same
    assert bool(diff.text) is bool(diff) is bool(diff.paths)


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(inner) for inner in value] if isinstance(value, list) else value


@BRIEF
@given(st.text(min_size=6, max_size=30), st.text(max_size=30))
def test_a_secret_differs_by_value_and_shows_neither(one: str, other: str) -> None:
    redactor = Redactor(b"key")
    before, after = redactor.view(_secret(password=one)), redactor.view(_secret(password=other))

    diff = compare(ID, before, after)

    assert bool(diff) is (one != other)
    coded = base64.b64encode(one.encode()).decode()
    assert coded not in diff.text
    assert coded not in repr(before)


def test_two_processes_hash_differently() -> None:
    assert Redactor().view(_secret(a="x")) != Redactor().view(_secret(a="x"))


def test_string_data_wins_over_data_and_whitespace_in_base64_does_not_count() -> None:
    secret = _secret(a="old", b="kept")
    secret["stringData"] = {"a": "new", "c": None}
    secret["data"]["b"] += "\n"

    manifest = Manifest.of(secret, source="f", redactor=Redactor())

    data = manifest.body["data"]
    assert {k: base64.b64decode(v).decode() for k, v in data.items()} == {
        "a": "new",
        "b": "kept",
        "c": "",
    }
    assert "stringData" not in manifest.body


@pytest.mark.parametrize("bad", [{"a": 5}, {"a": "not base64!"}, {"a": ["x"]}, ["x"], "x"])
def test_a_broken_secret_is_refused_without_its_value(bad: object) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": bad}

    with pytest.raises(RenderFailed) as caught:
        Manifest.of(secret, source="f.yaml", redactor=Redactor())

    assert "not base64!" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_manifest_shows_nothing_of_its_body_and_scrubs_what_others_say() -> None:
    manifest = Manifest.of(_secret(password="hunter22"), source="f", redactor=Redactor())
    coded = base64.b64encode(b"hunter22").decode()

    assert coded not in repr(manifest)
    assert manifest.scrub(f"invalid: hunter22 or {coded}") == "invalid: *** or ***"
