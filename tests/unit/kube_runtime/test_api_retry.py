"""What is sent again, after how long, and what never is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime.api_retry import MAX_ATTEMPTS, pause_before_retry
from kube_runtime.errors import (
    Conflict,
    KubeError,
    NotFound,
    RequestTimeout,
    ServerError,
    TooManyRequests,
    Unreachable,
)

WRITES = ("POST", "PUT", "PATCH", "DELETE")
THROTTLED = TooManyRequests(429, "TooManyRequests", "slow", retry_after=3.0)
FAILED = ServerError(500, "InternalError", "oops")


def pause(method: str, error: KubeError, attempt: int = 1, dice: float = 0.5) -> float | None:
    return pause_before_retry(method, error, attempt, lambda: dice)


@pytest.mark.parametrize("method", ["GET", *WRITES])
def test_a_throttled_request_of_any_verb_waits_at_least_as_told(method: str) -> None:
    assert pause(method, THROTTLED, dice=0.0) == 3.0
    assert pause(method, THROTTLED, dice=1.0) == pytest.approx(3.3)


@pytest.mark.parametrize("method", WRITES)
@pytest.mark.parametrize("error", [FAILED, Unreachable("cut"), RequestTimeout("late")])
def test_a_write_whose_outcome_is_unknown_is_never_repeated(method: str, error: KubeError) -> None:
    assert pause(method, error) is None


@pytest.mark.parametrize("error", [FAILED, Unreachable("cut"), RequestTimeout("late")])
def test_a_read_is_repeated_when_nothing_or_a_failure_came_back(error: KubeError) -> None:
    assert pause("GET", error) is not None


@pytest.mark.parametrize(
    "error", [NotFound(404, "NotFound", "gone"), Conflict(409, "Conflict", "old")]
)
def test_an_answer_is_an_answer(error: KubeError) -> None:
    assert pause("GET", error) is None


def test_an_eviction_that_a_budget_forbids_is_not_repeated() -> None:
    forbidden = TooManyRequests(429, "TooManyRequests", "would violate the budget")

    assert pause("POST", forbidden) is None
    assert pause("GET", forbidden) is not None


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_the_attempts_are_bounded(method: str) -> None:
    assert pause(method, THROTTLED, attempt=MAX_ATTEMPTS) is None


@given(st.integers(1, MAX_ATTEMPTS - 1), st.floats(0, 1))
def test_pauses_grow_and_are_bounded(attempt: int, dice: float) -> None:
    seconds = pause("GET", FAILED, attempt, dice)

    assert seconds is not None
    assert 0.1 * 2 ** (attempt - 1) <= seconds <= min(0.2 * 2 ** (attempt - 1), 5.0)


def test_a_server_that_fails_with_a_wish_is_obeyed() -> None:
    failed = ServerError(503, "ServiceUnavailable", "starting", retry_after=2.0)

    assert pause("GET", failed, dice=0.0) == 2.0
