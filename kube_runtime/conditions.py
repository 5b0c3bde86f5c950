"""Conditions as `kubectl wait`, Helm, Flux and Argo CD read them (kstatus).

Status writers build their conditions here; nobody else assembles the raw list.
Ready always exists; Reconciling and Stalled exist only while they are True.
lastTransitionTime moves when a status flips and at no other time. Pure: the time is passed in.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

Status = Literal["True", "False", "Unknown"]

READY: Final = "Ready"
RECONCILING: Final = "Reconciling"
STALLED: Final = "Stalled"
MAX_MESSAGE_CHARS: Final = 32768  # the limit of metav1.Condition


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a condition says, without the bookkeeping."""

    status: Status
    reason: str
    message: str = ""


@dataclass(frozen=True, slots=True)
class Condition:
    """One entry of status.conditions."""

    type: str
    status: Status
    reason: str
    message: str = ""
    observed_generation: int | None = None
    last_transition_time: datetime | None = None

    def to_json(self) -> dict[str, Any]:
        """Write the entry as the API wants it."""
        raw: dict[str, Any] = {
            "type": self.type,
            "status": self.status,
            "reason": self.reason,
            "message": self.message[:MAX_MESSAGE_CHARS],
        }
        if self.observed_generation is not None:
            raw["observedGeneration"] = self.observed_generation
        if self.last_transition_time is not None:
            raw["lastTransitionTime"] = format_time(self.last_transition_time)
        return raw

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> "Condition":
        """Read an entry; a status that is no known one becomes Unknown."""
        status = raw.get("status")
        return cls(
            type=str(raw.get("type", "")),
            status=status if status in ("True", "False") else "Unknown",
            reason=str(raw.get("reason", "")),
            message=str(raw.get("message", "")),
            observed_generation=raw.get("observedGeneration"),
            last_transition_time=parse_time(raw.get("lastTransitionTime")),
        )


def parse_conditions(raw: object) -> list[Condition]:
    """Read status.conditions; whatever is no list of objects reads as no conditions."""
    entries = raw if isinstance(raw, list) else []
    return [Condition.from_json(entry) for entry in entries if isinstance(entry, Mapping)]


def find_condition(conditions: Iterable[Condition], type_: str) -> Condition | None:
    """Return the condition of this type, if there is one."""
    return next((condition for condition in conditions if condition.type == type_), None)


def is_true(conditions: Iterable[Condition], type_: str) -> bool:
    """Tell whether the condition exists and is True."""
    condition = find_condition(conditions, type_)
    return condition is not None and condition.status == "True"


def set_condition(
    conditions: Iterable[Condition], new: Condition, now: datetime
) -> list[Condition]:
    """Put the condition in its place; the order of the others is kept, so that diffs stay small."""
    present = list(conditions)
    for index, old in enumerate(present):
        if old.type == new.type:
            present[index] = _with_transition(old, new, now)
            return present
    return [*present, _with_transition(None, new, now)]


def remove_condition(conditions: Iterable[Condition], type_: str) -> list[Condition]:
    """Leave the condition of this type out."""
    return [condition for condition in conditions if condition.type != type_]


def kstatus(
    conditions: Iterable[Condition],
    now: datetime,
    *,
    generation: int,
    ready: Verdict,
    reconciling: Verdict | None = None,
    stalled: Verdict | None = None,
) -> list[Condition]:
    """Set Ready, and Reconciling and Stalled or their absence, for this generation."""
    result = list(conditions)
    wanted = ((READY, ready), (RECONCILING, reconciling), (STALLED, stalled))
    for type_, verdict in wanted:
        if verdict is None:
            result = remove_condition(result, type_)
        else:
            result = set_condition(result, _condition(type_, verdict, generation), now)
    return result


def format_time(moment: datetime) -> str:
    """Write a date as metav1.Time: UTC, whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(raw: object) -> datetime | None:
    """Read a metav1.Time or MicroTime; None when it is absent or no date."""
    if not isinstance(raw, str):
        return None
    try:
        moment = datetime.fromisoformat(raw)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _condition(type_: str, verdict: Verdict, generation: int) -> Condition:
    return Condition(type_, verdict.status, verdict.reason, verdict.message, generation)


def _with_transition(old: Condition | None, new: Condition, now: datetime) -> Condition:
    if old is not None and old.status == new.status and old.last_transition_time is not None:
        return replace(new, last_transition_time=old.last_transition_time)
    return replace(new, last_transition_time=new.last_transition_time or now)
