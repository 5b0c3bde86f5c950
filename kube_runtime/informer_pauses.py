"""How long an informer waits after a failure, and whether it must list again. Pure."""

from collections.abc import Callable
from typing import Final

from kube_runtime.errors import ApiError, KubeError, Unreachable

_FIRST_SECONDS: Final = 0.2
_LONGEST_SECONDS: Final = 30.0
_NOT_OUR_TURN: Final = frozenset({401, 403, 429})


class Pauses:
    """Exponential back-off with jitter, so that a thousand informers do not return at once."""

    def __init__(self, random: Callable[[], float]) -> None:
        self._random = random
        self._failures = 0

    def reset(self) -> None:
        """Start from the shortest pause again."""
        self._failures = 0

    def after(self, error: Exception | None) -> float:
        """Tell how many seconds to wait now; never less than the server asked for."""
        pause: float = min(_FIRST_SECONDS * 2 ** min(self._failures, 16), _LONGEST_SECONDS)
        self._failures += 1
        jittered = pause * (0.5 + 0.5 * self._random())
        wish = error.retry_after if isinstance(error, KubeError) else None
        return max(jittered, wish or 0.0)


def can_resume(error: Exception) -> bool:
    """Tell whether a watch may go on from the last resourceVersion, without a new list.

    A cut connection loses nothing, and neither does a server that would not start the watch.
    After everything else (410, an ERROR event, nonsense, silence) only a list is certain.
    """
    if isinstance(error, Unreachable):
        return True
    if not isinstance(error, ApiError) or error.in_stream:
        return False
    return error.status in _NOT_OUR_TURN or error.status >= 500
