"""Quantities by value."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_agent.diff.quantity import are_equal, parse

# A loaded machine is no failure, and all unit tests together take seconds.
BRIEF = settings(max_examples=40, deadline=None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1000m", "1"),
        ("1000m", 1),
        ("0.5", "500m"),
        (0.5, "500m"),
        ("3072Mi", "3Gi"),
        ("1000M", "1G"),
        ("1e3", "1k"),
        ("1E3", 1000),
        (".5", "500m"),
        ("1.", 1),
        ("1E", "1000P"),
    ],
)
def test_two_spellings_of_one_quantity_are_equal(one: object, other: object) -> None:
    assert are_equal(one, other)


@pytest.mark.parametrize(
    ("one", "other"), [("1", "2"), ("1M", "1Mi"), ("x", "x"), (True, 1), ("", ""), (None, None)]
)
def test_what_differs_or_is_no_quantity_is_not_equal(one: object, other: object) -> None:
    assert not are_equal(one, other)


@BRIEF
@given(st.integers(min_value=-(10**9), max_value=10**9))
def test_a_thousand_milli_is_one(number: int) -> None:
    assert parse(f"{number * 1000}m") == Decimal(number)


@BRIEF
@given(st.text(max_size=80))
def test_no_text_makes_it_fail(text: str) -> None:
    parse(text)
