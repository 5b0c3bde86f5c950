"""A token bucket: how many requests per second we allow ourselves, whatever the server allows.

The client takes one token a request; a burst passes at once, the rest in order at the given rate.
"""

from kube_runtime.clock import SYSTEM_CLOCK, Clock


class TokenBucket:
    """Lets `burst` through at once and `per_second` after that; 0 per second is no limit."""

    def __init__(self, per_second: float, burst: int, *, clock: Clock = SYSTEM_CLOCK) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    async def take(self) -> None:
        """Wait for a token; a cancelled wait gives its token back."""
        if self._per_second <= 0:
            return
        wait_seconds = self._reserve()
        if wait_seconds <= 0:
            return
        try:
            await self._clock.sleep(wait_seconds)
        except BaseException:
            self._tokens += 1
            raise

    def _reserve(self) -> float:
        """Take a token now, on credit if need be, and tell how long to wait for it.

        Debt keeps the waiters in order without a queue.
        """
        now = self._clock.monotonic()
        gained = (now - self._filled_at) * self._per_second
        self._tokens = min(self._burst, self._tokens + gained) - 1
        self._filled_at = now
        return -self._tokens / self._per_second
