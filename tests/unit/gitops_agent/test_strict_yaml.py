"""Manifests mean what people mean by them, or are refused."""

from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_agent.errors import GitOpsError, LimitExceeded, RenderFailed
from gitops_agent.render.strict_yaml import load_documents

# A loaded machine is no failure, and all unit tests together take seconds.
BRIEF = settings(max_examples=40, deadline=None)


def load(text: str | bytes) -> list[Any]:
    data = text if isinstance(text, bytes) else text.encode()
    return list(load_documents(data, source="f.yaml"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"),
        ("on", "on"),
        ("No", "No"),
        ("true", True),
        ("'true'", "true"),
        ("!!str 5", "5"),
        ("0644", 420),
        ("0o17", 15),
        ("08", "08"),
        ("0x10", 16),
        ("12:30:45", "12:30:45"),
        ("1_000", "1_000"),
        ("2026-01-01", "2026-01-01"),
        ("1.0", 1.0),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        ("~", None),
        ("", None),
        ("null", None),
        ("'null'", "null"),
        ("-5", -5),
        ("1.2.3", "1.2.3"),
        ("=", "="),
    ],
)
def test_a_scalar_is_typed_as_kubernetes_would(text: str, value: object) -> None:
    (found,) = load(f"a: {text}")

    assert found == {"a": value}
    assert type(found["a"]) is type(value)


def test_empty_documents_are_left_out_and_separators_in_texts_are_text() -> None:
    assert load("---\n---\na: |\n  ---\n  x\n---\n# only a comment\n") == [{"a": "---\nx\n"}]


def test_anchors_and_merge_keys_work_and_the_nearer_value_wins() -> None:
    text = "base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}\nquoted: {'<<': 1}\n"

    assert load(text)[0]["use"] == {"x": 1, "y": 3}
    assert load(text)[0]["quoted"] == {"<<": 1}


def test_other_encodings_and_line_ends_are_read() -> None:
    assert load("a: ä\r\nb: 1\r\n".encode("utf-16")) == [{"a": "ä", "b": 1}]
    assert load(b"\xef\xbb\xbfa: 1") == [{"a": 1}]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a: 1\nb: 2\na: 3\n", "f.yaml:3: the key 'a' is there twice"),
        ("a: [1", "f.yaml:"),
        ("a: !!python/object:os.system x", "is not supported"),
        ("a: !!binary aGk=", "is not supported"),
        ("? [1]\n: 2", "expected a text as key"),
        ("a: 1e999", "JSON cannot hold"),
        ("a: 123456789012345678901234567890", "JSON cannot hold"),
        ("a: {<<: 1}", "expected a mapping to merge"),
        ("\x00", "control characters"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(text: str, word: str) -> None:
    with pytest.raises(RenderFailed, match=r"f\.yaml") as caught:
        load(text)

    assert word in str(caught.value)


@pytest.mark.parametrize("text", ["&a [*a]", "[" * 5000, "- " * 3000])
def test_circles_and_depths_end(text: str) -> None:
    with pytest.raises(GitOpsError):
        load(text)


def test_a_bomb_is_refused_before_it_grows() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]

    with pytest.raises(LimitExceeded):
        load("\n".join(lines))


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(codec="ascii", categories=["L"]), min_size=1), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@BRIEF
@given(st.dictionaries(st.sampled_from("abc"), _json, min_size=1))
def test_json_is_read_back_as_it_was_written(value: dict[str, Any]) -> None:
    (found,) = load(orjson.dumps(value))

    assert orjson.dumps(found) == orjson.dumps(value)


@BRIEF
@given(st.dictionaries(st.sampled_from("abc"), st.text(max_size=20), min_size=1))
def test_texts_survive_what_other_programs_write(value: dict[str, str]) -> None:
    try:
        data = yaml.safe_dump(value, allow_unicode=True).encode()
        loaded = yaml.safe_load(data)
    except (yaml.YAMLError, UnicodeEncodeError):
        return

    assert load(data) == [loaded]


@BRIEF
@given(st.binary(max_size=200))
def test_no_bytes_lead_to_anything_but_our_own_errors(data: bytes) -> None:
    try:
        values = load(data)
    except GitOpsError:
        return
    orjson.dumps(values)
