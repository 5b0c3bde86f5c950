"""Notice an object that never stays as Git wants it, and stop fighting over it; pure but for its memory.

Somebody else (an autoscaler, a webhook, a second tool) puts a field back each time. After a few rounds of
the very same difference it is named in a condition, and healed ever more seldom.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gitops_agent.diff.compare import ObjectDiff
from gitops_agent.objects import ObjectId

_ROUNDS: Final = 5
_WINDOW_SECONDS: Final = 600.0
_FIRST_PAUSE_SECONDS: Final = 60.0
_LONGEST_PAUSE_SECONDS: Final = 3600.0


@dataclass(slots=True)
class _Round:
    digest: str
    count: int
    last: float
    fight: "Fight"


@dataclass(frozen=True, slots=True)
class Fight:
    """What keeps coming back, and who else was seen writing to the object."""

    paths: tuple[str, ...]
    writers: frozenset[str]


@dataclass(slots=True)
class Convergence:
    """The memory of one Application."""

    _rounds: dict[ObjectId, _Round] = field(default_factory=dict)

    def healed(self, healed: Iterable[tuple[ObjectDiff, Iterable[str]]], now: float) -> None:
        """Note what has just been applied to put drift right, and who else had written there."""
        for diff, writers in healed:
            before = self._rounds.get(diff.id)
            is_same = before is not None and before.digest == diff.digest
            is_recent = before is not None and now - before.last < self._memory(before)
            count = before.count + 1 if before and is_same and is_recent else 1
            known = before.fight.writers if before is not None and is_same else frozenset()
            fight = Fight(diff.paths, known | frozenset(writers))
            self._rounds[diff.id] = _Round(diff.digest, count, now, fight)

    def fights(self, now: float) -> dict[ObjectId, Fight]:
        """Return the objects that keep coming back different."""
        return {
            object_id: found.fight
            for object_id, found in self._rounds.items()
            if found.count >= _ROUNDS and now - found.last < self._memory(found)
        }

    def pause_seconds(self, diff: ObjectDiff, now: float) -> float:
        """How long to leave this difference alone; 0 when it may be healed now."""
        count = self._count(diff)
        if count < _ROUNDS:
            return 0.0
        pause = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(count - _ROUNDS, 10))
        return max(0.0, self._rounds[diff.id].last + pause - now)

    def _count(self, diff: ObjectDiff) -> int:
        found = self._rounds.get(diff.id)
        return found.count if found is not None and found.digest == diff.digest else 0

    def _memory(self, found: _Round) -> float:
        return _WINDOW_SECONDS if found.count < _ROUNDS else 2 * _LONGEST_PAUSE_SECONDS
