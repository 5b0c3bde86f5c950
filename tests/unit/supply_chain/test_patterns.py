"""Globs and identity patterns: they mean what `re` means, and take no longer than they must."""

import contextlib
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supply_chain.plan.globs import Glob
from supply_chain.plan.regexes import BadRegexError, Regex

NAMES = st.text(alphabet="ab/.", max_size=12)


@given(pattern=st.text(alphabet="ab/.*", min_size=1, max_size=10), name=NAMES)
def test_a_glob_matches_as_its_translation_does(pattern: str, name: str) -> None:
    translated = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")

    assert Glob(pattern).matches(name) is (re.fullmatch(translated, name) is not None)


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("registry.example.test/team/*", "registry.example.test/team/app", True),
        ("registry.example.test/team/*", "registry.example.test/team/sub/app", False),
        ("registry.example.test/**", "registry.example.test/team/sub/app", True),
        ("registry.example.test/team", "registry.example.test/team2", False),
        ("*.example.test/app", "a.b.example.test/app", True),
        ("*.example.test/app", "evil.test/x.example.test/app", False),
        ("**", "docker.io/library/nginx", True),
    ],
)
def test_globs_of_everyday_policies(pattern: str, name: str, *, expected: bool) -> None:
    assert Glob(pattern).matches(name) is expected


def patterns() -> st.SearchStrategy[str]:
    atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\.", r"\d", "[a-c1]"])
    repeats = st.sampled_from(["", "*", "+", "?", "{2}", "{1,2}", "{1,}"])
    pieces = st.builds(lambda atom, repeat: atom + repeat, atoms, repeats)

    def extend(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        sequences = st.lists(children, min_size=1, max_size=3).map("".join)
        alternatives = st.lists(sequences, min_size=1, max_size=3).map("|".join)
        return st.builds(lambda inner, repeat: f"({inner}){repeat}", alternatives, repeats)

    return st.recursive(pieces, extend, max_leaves=6)


@given(pattern=patterns(), subject=st.text(alphabet="abc1.\n", max_size=8))
def test_a_pattern_matches_as_re_does(pattern: str, subject: str) -> None:
    assert Regex(pattern).matches(subject) is (re.fullmatch(pattern, subject) is not None)


def test_anchors_at_the_ends_are_allowed_and_change_nothing() -> None:
    assert Regex("^a+$").matches("aaa")
    assert not Regex("^a+$").matches("aaa\n")
    assert not Regex("a").matches("ba")


@pytest.mark.parametrize(
    "pattern",
    ["", "(", ")", "a)", "[", "[]", "*", "a**", "a{", "a{1", "a{2,1}", "a{,3}", "a{65}", "[b-a]",
     r"(?=a)", r"(?P<x>a)", r"(a)\1", r"\bx", r"\p{L}", "\\", "a^b", "a$b", "x" * 513,
     "((((((((((((((((( a )))))))))))))))))", "((a{64}){64}){64}"],
)  # fmt: skip
def test_a_pattern_outside_of_the_dialect_is_refused(pattern: str) -> None:
    with pytest.raises(BadRegexError):
        Regex(pattern)


@given(st.text(max_size=40))
def test_any_text_is_a_pattern_or_refused_cleanly(text: str) -> None:
    with contextlib.suppress(BadRegexError):
        Regex(text).matches("https://example.test/a")


@pytest.mark.parametrize("pattern", ["(a+)+", "(a|a)*", "(.*)*x", "a*a*a*a*a*a*a*a*b"])
def test_what_makes_backtracking_explode_is_done_in_a_moment(pattern: str) -> None:
    began = time.process_time()

    assert not Regex(pattern).matches("a" * 1000 + "!")

    assert time.process_time() - began < 2


def test_a_glob_of_many_stars_is_done_in_a_moment() -> None:
    began = time.process_time()

    assert not Glob("**a" * 60 + "b").matches("a" * 500)

    assert time.process_time() - began < 2
