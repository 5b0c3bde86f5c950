"""Shows a rollout in plain lines, for logs and pipes: each line once, until it says something new."""

from collections.abc import Callable

from kube_runtime.resource import Json
from levelset.rollout import facts
from levelset.rollout.snapshot import Snapshot
from levelset.rollout.verdict import Phase, Verdict


class Lines:
    """A display that writes lines."""

    wants_podsets = False

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._told: frozenset[str] = frozenset()

    def __call__(self, seen: Snapshot, verdict: Verdict, podsets: list[Json]) -> None:
        """Write what was not told by the look before."""
        del podsets
        lines = [] if verdict.phase is Phase.FAILED else [verdict.text]
        lines += [f"  {line}" for line in facts.details(seen)]
        for line in lines:
            if line not in self._told:
                self._write(line)
        self._told = frozenset(lines)
