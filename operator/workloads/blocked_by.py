"""Why something waits that should go on: `status.blockedBy` of both kinds, as data.

PodSets fill it in from their pods and from refused requests, Rollouts from their PodSets and from
budgets. The message is the first evidence, cut to a bounded length. Pure.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

from kube_runtime.conditions import format_time, parse_time
from kube_runtime.resource import Json

BlockReason = Literal[
    "Quota",
    "Unschedulable",
    "ImagePull",
    "CrashLoop",
    "Admission",
    "PodDisruptionBudget",
    "TemplateInvalid",
]
BLOCK_REASONS: Final[tuple[BlockReason, ...]] = get_args(BlockReason)
MAX_MESSAGE_CHARS: Final = 1024


@dataclass(frozen=True, slots=True)
class BlockedBy:
    """What is in the way, with the first evidence for it."""

    reason: BlockReason
    message: str
    pod: str = ""
    """The pod that the message speaks of; "" when no pod could be made."""
    count: int = 1
    """How many pods have this trouble."""
    since: datetime | None = None
    """When this reason was first seen; it stays as long as the reason does."""

    def to_json(self) -> Json:
        """Write it as the CRDs declare it."""
        raw: Json = {"reason": self.reason, "message": cut(self.message), "count": self.count}
        if self.pod:
            raw["pod"] = self.pod
        if self.since is not None:
            raw["since"] = format_time(self.since)
        return raw

    @classmethod
    def from_json(cls, raw: Json | None) -> "BlockedBy | None":
        """Read it; a reason that is no known one reads as nothing in the way."""
        reason = _known((raw or {}).get("reason"))
        if raw is None or reason is None:
            return None
        return cls(
            reason=reason,
            message=str(raw.get("message", "")),
            pod=str(raw.get("pod", "")),
            count=raw.get("count", 1),
            since=parse_time(raw.get("since")),
        )


def cut(message: str) -> str:
    """Bound a message that comes from elsewhere."""
    if len(message) <= MAX_MESSAGE_CHARS:
        return message
    return f"{message[: MAX_MESSAGE_CHARS - 1]}…"


def _known(text: object) -> BlockReason | None:
    return next((reason for reason in BLOCK_REASONS if reason == text), None)
