"""How many faults a run has made and how many checks it has passed; shown when the run has ended.

A scenario opens one tally; conftest.py prints them all in pytest's summary, failed runs included.
"""

from collections import Counter
from dataclasses import dataclass, field

ALL: list["Tally"] = []


@dataclass
class Tally:
    """The faults and checks of one scenario."""

    name: str
    seed: int
    faults: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    @classmethod
    def open(cls, name: str, seed: int) -> "Tally":
        """Begin to count; the tally is shown at the end of the session."""
        tally = cls(name, seed)
        ALL.append(tally)
        return tally

    def fault(self, kind: str, count: int = 1) -> None:
        self.faults[kind] += count

    def check(self, kind: str, *, holds: bool = True, otherwise: str = "") -> None:
        """Count a check; one that does not hold is kept, and fails the scenario at its end."""
        self.checks[kind] += 1
        if not holds:
            self.violations.append(otherwise or kind)

    def line(self) -> str:
        return (
            f"{self.name} (seed {self.seed}): {_sum(self.faults, 'faults')}; "
            f"{_sum(self.checks, 'checks')}; {len(self.violations)} violations"
        )


def _sum(counted: Counter[str], what: str) -> str:
    parts = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items()))
    return f"{counted.total()} {what} ({parts})" if parts else f"0 {what}"
