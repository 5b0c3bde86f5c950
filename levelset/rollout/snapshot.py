"""What a Rollout says of itself, parsed for people: counts, steps, what holds it up, what is held.

Looser than the controller's own parsing on purpose: a client may be older or newer than the
controllers, so what it does not find reads as absent. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kube_runtime.conditions import Condition, find_condition, parse_conditions, parse_time
from kube_runtime.resource import Json, Key, generation_of, is_deleting

_NEVER = -1


@dataclass(frozen=True, slots=True)
class Blocked:
    """What keeps the pods from coming, with the first evidence."""

    reason: str
    message: str = ""
    pod: str = ""
    count: int = 0
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """The revision that was gone back from."""

    revision: int
    podset: str
    reason: str
    message: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class StepState:
    """The step that the rollout is at; the index counts from 0, up to one beyond the last."""

    index: int
    podset: str = ""
    type: str = ""
    state: str = ""
    message: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One look at a Rollout."""

    key: Key
    generation: int = 1
    observed_generation: int = _NEVER
    replicas: int = 1
    total: int = 0
    """All pods, of every revision."""
    updated: int = 0
    ready: int = 0
    available: int = 0
    terminating: int = 0
    revision: int = 0
    podset: str = ""
    """The PodSet of the revision that is being rolled out."""
    is_paused: bool = False
    is_deleting: bool = False
    conditions: tuple[Condition, ...] = ()
    steps: tuple[Mapping[str, Any], ...] = ()
    step: StepState | None = None
    blocked: Blocked | None = None
    held: Held | None = None
    known_good: int = 0
    """The revision to go back to; 0 while there is none."""

    @property
    def name(self) -> str:
        """The name alone."""
        return self.key.name

    @property
    def is_observed(self) -> bool:
        """Tell whether the status speaks of the spec as it is now."""
        return self.observed_generation >= self.generation

    def condition(self, type_: str) -> Condition | None:
        """Return the condition of this type, if there is one."""
        return find_condition(self.conditions, type_)

    def reason_of(self, type_: str, status: str) -> str:
        """Return the reason of the condition if it has this status; "" otherwise."""
        found = self.condition(type_)
        return found.reason if found is not None and found.status == status else ""


def snapshot_of(raw: Json) -> Snapshot:
    """Read a Rollout."""
    spec: Json = raw["spec"]
    status: Json = raw.get("status") or {}
    return Snapshot(
        key=Key.of(raw),
        generation=generation_of(raw),
        observed_generation=status.get("observedGeneration", _NEVER),
        replicas=spec.get("replicas", 1),
        total=status.get("replicas", 0),
        updated=status.get("updatedReplicas", 0),
        ready=status.get("readyReplicas", 0),
        available=status.get("availableReplicas", 0),
        terminating=status.get("terminatingReplicas", 0),
        revision=status.get("revision", 0),
        podset=status.get("updatedPodSet", ""),
        is_paused=spec.get("paused", False),
        is_deleting=is_deleting(raw),
        conditions=tuple(parse_conditions(status.get("conditions"))),
        steps=tuple(spec.get("steps") or ()),
        step=_step(status.get("step")),
        blocked=_blocked(status.get("blockedBy")),
        held=_held(status.get("held")),
        known_good=(status.get("knownGood") or {}).get("revision", 0),
    )


def _step(raw: Json | None) -> StepState | None:
    if not raw:
        return None
    return StepState(
        index=raw.get("index", 0),
        podset=raw.get("podSet", ""),
        type=raw.get("type", ""),
        state=raw.get("state", ""),
        message=raw.get("message", ""),
        since=parse_time(raw.get("since")),
    )


def _blocked(raw: Json | None) -> Blocked | None:
    if not raw or not raw.get("reason"):
        return None
    return Blocked(
        reason=raw["reason"],
        message=raw.get("message", ""),
        pod=raw.get("pod", ""),
        count=raw.get("count", 0),
        since=parse_time(raw.get("since")),
    )


def _held(raw: Json | None) -> Held | None:
    if not raw:
        return None
    return Held(
        revision=raw.get("revision", 0),
        podset=raw.get("podSet", ""),
        reason=raw.get("reason", ""),
        message=raw.get("message", ""),
        since=parse_time(raw.get("since")),
    )
