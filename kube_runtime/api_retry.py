"""Decides whether a failed request may be sent again, and after how long. Pure.

A write whose outcome is unknown is never repeated here: a second POST could make a twin.
A 429 is safe for every verb, since the server says that it did not act.
"""

from collections.abc import Callable
from typing import Final

from kube_runtime.errors import KubeError, RequestTimeout, ServerError, TooManyRequests, Unreachable

MAX_ATTEMPTS: Final = 6
_FIRST_PAUSE_SECONDS: Final = 0.2
_LONGEST_PAUSE_SECONDS: Final = 5.0


def pause_before_retry(
    method: str, error: KubeError, attempt: int, random: Callable[[], float]
) -> float | None:
    """Tell how many seconds to wait after the given attempt (from 1), None to give up.

    The random numbers are in [0, 1) and spread clients that failed together.
    """
    if attempt >= MAX_ATTEMPTS or not _may_repeat(method, error):
        return None
    if error.retry_after is not None:
        return error.retry_after * (1 + 0.1 * random())  # never earlier than asked
    pause: float = min(_FIRST_PAUSE_SECONDS * 2 ** (attempt - 1), _LONGEST_PAUSE_SECONDS)
    return pause * (0.5 + 0.5 * random())


def _may_repeat(method: str, error: KubeError) -> bool:
    if isinstance(error, TooManyRequests):
        # Without a Retry-After it is no throttling but an answer: an eviction that a
        # PodDisruptionBudget forbids.
        return method == "GET" or error.retry_after is not None
    return method == "GET" and isinstance(error, ServerError | Unreachable | RequestTimeout)
