"""Keeps a sync from acting on a cache that has not seen our own last writes.

Before a create or a delete the controller notes what it will do (names to create, UIDs to delete);
the informer's events strike the notes off. While a note stands, the cache is behind and counting
pods in it would make one too many. A note that outlives its time is no leave to trust the cache:
the verdict is then LOOK, and the controller lists live (then calls forget) before it acts.
The gate beside it holds the resourceVersion of our last write per owner against the store's.
Not thread-safe; pure but for the clock.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Generic, TypeVar

from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.resource import Uid

O = TypeVar("O", bound=Hashable)  # noqa: E741 - the owner's key

# The built-in controllers' figure: longer than any sane watch delay.
TTL_SECONDS: Final = 300.0


class Outlook(Enum):
    """How far the cache of one owner's objects can be trusted."""

    SATISFIED = "satisfied"  # all our writes were seen: act on the cache
    WAITING = "waiting"  # some were not: do not create or delete, an event will come
    LOOK = "look"  # none came in time: list live before acting


@dataclass(slots=True)
class _Open:
    """What one owner still waits for."""

    since: float
    creations: set[str] = field(default_factory=set)
    deletions: set[Uid] = field(default_factory=set)
    resource_versions: dict[str, int] = field(default_factory=dict)


class Expectations(Generic[O]):
    """The open notes of a controller, by owner."""

    def __init__(self, *, ttl_seconds: float = TTL_SECONDS, clock: Clock = SYSTEM_CLOCK) -> None:
        self._ttl = ttl_seconds
        self._clock = clock
        self._open: dict[O, _Open] = {}

    def expect_creations(self, owner: O, names: Iterable[str]) -> None:
        """Note the names that will be created; call it before the first request."""
        self._note(owner).creations.update(names)

    def expect_deletions(self, owner: O, uids: Iterable[Uid]) -> None:
        """Note the UIDs that will be deleted; call it before the first request."""
        self._note(owner).deletions.update(uids)

    def creation_observed(self, owner: O, name: str) -> None:
        """Strike a creation off: the informer showed it, or the request failed for certain."""
        if (noted := self._open.get(owner)) is not None:
            noted.creations.discard(name)
            self._drop_if_empty(owner, noted)

    def deletion_observed(self, owner: O, uid: Uid) -> None:
        """Strike a deletion off: gone or deletionTimestamp set, or the request failed for certain."""
        if (noted := self._open.get(owner)) is not None:
            noted.deletions.discard(uid)
            self._drop_if_empty(owner, noted)

    def record_write(self, owner: O, resource_version: str, *, kind: str = "") -> None:
        """Note the resourceVersion that a write for this owner came back with."""
        version = parse_resource_version(resource_version)
        if version is not None:
            versions = self._note(owner).resource_versions
            versions[kind] = max(version, versions.get(kind, 0))

    def store_has_seen_writes(self, owner: O, resource_version: str, *, kind: str = "") -> bool:
        """Tell whether a store at this resourceVersion includes all recorded writes of the owner."""
        noted = self._open.get(owner)
        if noted is None or kind not in noted.resource_versions:
            return True
        version = parse_resource_version(resource_version)
        if version is None or version < noted.resource_versions[kind]:
            return False
        del noted.resource_versions[kind]
        self._drop_if_empty(owner, noted)
        return True

    def is_satisfied(self, owner: O) -> bool:
        """Tell whether every creation and deletion was seen; a note that expired is not."""
        noted = self._open.get(owner)
        return noted is None or not (noted.creations or noted.deletions)

    def expired(self, owner: O) -> bool:
        """Tell whether something is still open after its time: list live before acting."""
        noted = self._open.get(owner)
        return noted is not None and self._clock.monotonic() - noted.since > self._ttl

    def outlook(
        self, owner: O, *, store_resource_version: str | None = None, kind: str = ""
    ) -> Outlook:
        """Put all of it together; pass the store's resourceVersion to include the gate."""
        is_caught_up = store_resource_version is None or self.store_has_seen_writes(
            owner, store_resource_version, kind=kind
        )
        if is_caught_up and self.is_satisfied(owner):
            return Outlook.SATISFIED
        return Outlook.LOOK if self.expired(owner) else Outlook.WAITING

    def seconds_until_expiry(self, owner: O) -> float | None:
        """Tell when to look again if no event comes; None when nothing is open."""
        noted = self._open.get(owner)
        if noted is None:
            return None
        return max(0.0, noted.since + self._ttl - self._clock.monotonic())

    def pending(self, owner: O) -> tuple[frozenset[str], frozenset[Uid]]:
        """Return the names and UIDs that are still open, for the live list to settle."""
        noted = self._open.get(owner)
        if noted is None:
            return frozenset(), frozenset()
        return frozenset(noted.creations), frozenset(noted.deletions)

    def forget(self, owner: O) -> None:
        """Drop every note: the owner is gone, was created anew, or a live list settled them."""
        self._open.pop(owner, None)

    def __len__(self) -> int:
        return len(self._open)

    def _note(self, owner: O) -> _Open:
        noted = self._open.setdefault(owner, _Open(since=0.0))
        noted.since = self._clock.monotonic()  # the newest write starts the time anew
        return noted

    def _drop_if_empty(self, owner: O, noted: _Open) -> None:
        if not (noted.creations or noted.deletions or noted.resource_versions):
            del self._open[owner]


def parse_resource_version(text: str) -> int | None:
    """Read a resourceVersion as the number that it is since Kubernetes 1.35; None if it is none."""
    return int(text) if text.isdecimal() else None
