"""Whether to sync now, later or not at all; pure.

Level-triggered: the answer follows from what is there (request, commit, differences, the last attempt),
never from the event that led here. Asking twice gives the same answer.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gitops_agent.resources import Automated, Operation, Retry, SyncRequest

Cause = Literal["request", "commit", "drift", "retry"]


@dataclass(frozen=True, slots=True)
class SyncQuestion:
    """What decides over a sync."""

    request: SyncRequest | None
    automated: Automated | None
    retry: Retry
    operation: Operation
    attempt: str
    """Digest of the commit and the source: a retry is for the same attempt."""
    is_different: bool
    """Whether something would be applied."""
    is_healable: bool
    """Whether some of it is not a fight that is paused."""
    would_prune: bool
    """Whether something would be deleted if pruning is on."""
    now: datetime


@dataclass(frozen=True, slots=True)
class Decision:
    """Sync for this cause, or look again after a while, or neither."""

    cause: Cause | None = None
    prune: bool = False
    look_again_after: float | None = None
    reason: str = ""


def decide(question: SyncQuestion) -> Decision:  # noqa: PLR0911 - one return for each rule
    """Answer the question."""
    automated, operation = question.automated, question.operation
    if question.request is not None:
        prune = question.request.prune or (automated is not None and automated.prune)
        return Decision("request", prune=prune)
    if automated is None:
        return Decision(reason="not automated")
    has_work = question.is_different or (automated.prune and question.would_prune)
    if not has_work:
        return Decision()
    if operation.attempt != question.attempt:
        return Decision("commit", prune=automated.prune)
    if operation.phase in ("Failed", "Error"):
        return _again(question, automated)
    if operation.phase == "Running":
        return Decision("retry", prune=automated.prune)  # a restart in the middle
    if not question.is_different or (automated.self_heal and question.is_healable):
        return Decision("drift", prune=automated.prune)
    return Decision(reason="differs, and is not healed")


def _again(question: SyncQuestion, automated: Automated) -> Decision:
    operation, retry = question.operation, question.retry
    failures = operation.retry_count + 1
    if retry.limit is not None and operation.retry_count >= retry.limit:
        return Decision(reason=f"failed {failures} times; spec.syncPolicy.retry.limit is reached")
    finished = operation.finished_at or question.now
    waited = (question.now - finished).total_seconds()
    left = retry.delay_seconds(failures) - waited
    if left > 0:
        return Decision(look_again_after=left, reason="waits before the next attempt")
    return Decision("retry", prune=automated.prune)
