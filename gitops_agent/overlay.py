"""Read your own writes: what an informer has not told us yet, but the API server's answers have.

Without it, the reconcile right after a write would look at the object from before the write and do the
work again. An answer counts until the store holds the same or a later resourceVersion, and an object that
the store lacks altogether only for a few seconds.
"""

import time
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from kube_runtime.resource import Json, resource_version_of, uid_of

K = TypeVar("K", bound=Hashable)

_TRUSTED_SECONDS: Final = 5.0


class Overlay(Generic[K]):
    """The answers to our own writes, by key."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._written: dict[K, tuple[Json, float]] = {}

    def wrote(self, key: K, answer: Json) -> None:
        """Keep the answer to a write."""
        self._written[key] = answer, self._monotonic()

    def forget(self, key: K) -> None:
        """Drop what is kept of a key."""
        self._written.pop(key, None)

    def newest(self, key: K, stored: Json | None) -> Json | None:
        """Return the newer of what is stored and what was answered."""
        if key not in self._written:
            return stored
        written, at = self._written[key]
        if stored is None:
            return written if self._monotonic() - at < _TRUSTED_SECONDS else None
        if uid_of(stored) != uid_of(written) or _version(stored) >= _version(written):
            del self._written[key]
            return stored
        return written


def _version(obj: Json) -> int:
    """Compare resourceVersions as numbers, as Kubernetes allows since 1.35."""
    version = resource_version_of(obj)
    return int(version) if version.isdecimal() else 0
