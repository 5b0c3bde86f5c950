"""Percentages, fence posts and shares."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads.rollout import maths
from workloads.rollout.resources import Rollout, StrategyType

SELECTOR = {"matchLabels": {"app": "web"}}
ROLLOUT = Rollout(
    key=Key("default", "web"),
    uid=Uid("owner"),
    replicas=10,
    selector=LabelSelector.parse(SELECTOR),
    raw_selector=SELECTOR,
    template={},
)
PERCENT = st.integers(0, 100).map(lambda value: f"{value}%")


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "expected_surge", "expected_unavailable"),
    [
        (10, "25%", "25%", 3, 2),
        (1, "25%", "25%", 1, 0),
        (4, "25%", "25%", 1, 1),
        (3, 0, "25%", 0, 1),
        (3, "0%", "1%", 0, 1),
        (10, 0, 20, 0, 10),
        (10, 3, 0, 3, 0),
        (10, "100%", "100%", 10, 10),
        (0, "25%", "25%", 0, 0),
    ],
)
def test_surge_rounds_up_and_unavailable_rounds_down(
    replicas: int,
    surge: int | str,
    unavailable: int | str,
    expected_surge: int,
    expected_unavailable: int,
) -> None:
    rollout = replace(ROLLOUT, replicas=replicas, max_surge=surge, max_unavailable=unavailable)

    assert maths.max_surge(rollout) == expected_surge
    assert maths.max_unavailable(rollout) == expected_unavailable


def test_recreate_has_neither() -> None:
    rollout = replace(ROLLOUT, strategy=StrategyType.RECREATE)

    assert (maths.max_surge(rollout), maths.max_unavailable(rollout)) == (0, 0)


@given(st.integers(1, 10**9), PERCENT | st.integers(0, 10**9), PERCENT | st.integers(0, 10**9))
def test_a_rollout_can_always_move(replicas: int, surge: int | str, unavailable: int | str) -> None:
    rollout = replace(ROLLOUT, replicas=replicas, max_surge=surge, max_unavailable=unavailable)

    assert maths.max_surge(rollout) + maths.max_unavailable(rollout) >= 1
    assert 0 <= maths.min_available(rollout) <= replicas


@given(st.integers(0, 2**31), st.integers(1, 2**31), st.integers(1, 2**31))
def test_a_share_is_exact_to_half_a_pod_however_large(part: int, size: int, whole: int) -> None:
    share = maths.share(part, size=size, of_size=whole)

    assert -whole <= 2 * (share * whole - part * size) <= whole
