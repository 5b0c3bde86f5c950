"""Whether a rollout is done, goes on or has failed, in the words that `kubectl rollout` uses.

The phrases are an interface: scripts look for them. What a Deployment cannot have (steps, a held
revision) is told by `facts`. Pure.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from levelset.rollout.snapshot import Held, Snapshot

_DEADLINE: Final = "ProgressDeadlineExceeded"


class Phase(Enum):
    """How it stands."""

    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How it stands, in one line."""

    phase: Phase
    text: str


def judge(seen: Snapshot, *, revision: int = 0) -> Verdict:
    """Decide; with a revision, whatever is not about it is a failure."""
    held = seen.held.revision if seen.held is not None else 0
    if revision not in (0, seen.revision, held):
        return Verdict(
            Phase.FAILED,
            f"desired revision ({revision}) is different from the running revision "
            f"({seen.revision})",
        )
    if not seen.is_observed:
        return _waiting(seen, "Waiting for rollout spec update to be observed...")
    if failure := _failure(seen):
        return Verdict(Phase.FAILED, failure)
    if lacking := _lacking(seen):
        return _waiting(seen, f'Waiting for rollout "{seen.name}" rollout to finish: {lacking}...')
    return Verdict(Phase.DONE, f'rollout "{seen.name}" successfully rolled out')


def held_text(held: Held) -> str:
    """Say why the revision is held."""
    return ": ".join(filter(None, (held.reason, held.message)))


def _failure(seen: Snapshot) -> str:
    if seen.held is not None:
        return f'rollout "{seen.name}" {_fate(seen)}: {held_text(seen.held)}'
    if seen.reason_of("Progressing", "False") == _DEADLINE:
        evidence = f" ({seen.blocked.reason}: {seen.blocked.message})" if seen.blocked else ""
        return f'rollout "{seen.name}" exceeded its progress deadline{evidence}'
    invalid = seen.condition("Stalled")
    if invalid is not None and invalid.reason == "InvalidSelector":
        return f'rollout "{seen.name}" cannot be worked on: {invalid.message}'
    return ""


def _fate(seen: Snapshot) -> str:
    number = seen.held.revision if seen.held is not None else 0
    if not seen.reason_of("RolledBack", "True"):
        return f"failed at revision {number}"
    to = f" to revision {seen.known_good}" if seen.known_good else ""
    return f"was rolled back from revision {number}{to}"


def _lacking(seen: Snapshot) -> str:
    if seen.updated < seen.replicas:
        return f"{seen.updated} out of {seen.replicas} new replicas have been updated"
    if seen.total > seen.updated:
        return f"{seen.total - seen.updated} old replicas are pending termination"
    if seen.available < seen.updated:
        return f"{seen.available} of {seen.updated} updated replicas are available"
    return ""


def _waiting(seen: Snapshot, text: str) -> Verdict:
    if seen.blocked is None:
        return Verdict(Phase.WAITING, text)
    return Verdict(
        Phase.WAITING, f"{text} (Warning: {seen.blocked.reason} - {seen.blocked.message})"
    )
