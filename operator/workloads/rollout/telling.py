"""Tells of what has happened to a Rollout, as events and counts. Called once a status is written.

What is told is the difference between two statuses, so that nothing is told twice.
"""

from dataclasses import dataclass

from kube_runtime.conditions import Condition, find_condition
from kube_runtime.events import EventRecorder
from kube_runtime.resource import Json
from workloads import names
from workloads.metrics import WorkloadsMetrics
from workloads.rollout import conditions
from workloads.rollout.resources import RolloutStatus


@dataclass(frozen=True, slots=True)
class Teller:
    """Tells of all Rollouts of the process."""

    events: EventRecorder
    metrics: WorkloadsMetrics

    def create_error(self, raw: Json, message: str) -> None:
        """Tell that the PodSet of a new revision was refused."""
        self._warn(raw, conditions.CREATE_ERROR, message)

    def changed(self, raw: Json, old: RolloutStatus, new: RolloutStatus) -> None:
        """Tell what a new status says that the old one did not."""
        self._count_end(old, new)
        self._tell_of_held(raw, old, new)
        self._tell_of_template(raw, old, new)

    def _count_end(self, old: RolloutStatus, new: RolloutStatus) -> None:
        before, after = _both(old, new, conditions.PROGRESSING)
        if after is None or (before is not None and before.reason == after.reason):
            return
        if after.reason == conditions.COMPLETE:
            self.metrics.rollout_finished("complete")
        elif after.reason == conditions.DEADLINE_EXCEEDED:
            self.metrics.rollout_finished("deadline_exceeded")

    def _tell_of_held(self, raw: Json, old: RolloutStatus, new: RolloutStatus) -> None:
        if new.held is not None and old.held is None:
            self.metrics.rolled_back(new.held.reason)
            good = new.known_good.revision if new.known_good is not None else 0
            message = (
                f"Revision {new.held.revision} has failed ({new.held.reason}: "
                f"{new.held.message}), going back to revision {good}"
            )
            self._warn(raw, conditions.ROLLED_BACK, message)
        if old.held is not None and new.held is None:
            message = f"Revision {old.held.revision} is not held any more"
            self.events.event(raw, names.ROLLOUTS, reason="RevisionReleased", message=message)

    def _tell_of_template(self, raw: Json, old: RolloutStatus, new: RolloutStatus) -> None:
        before, after = _both(old, new, conditions.TEMPLATE_VALID)
        if after is None or after.status != "False":
            return
        if before is None or (before.reason, before.message) != (after.reason, after.message):
            self._warn(raw, after.reason, after.message)

    def _warn(self, raw: Json, reason: str, message: str) -> None:
        self.events.event(raw, names.ROLLOUTS, type="Warning", reason=reason, message=message)


def _both(
    old: RolloutStatus, new: RolloutStatus, type_: str
) -> tuple[Condition | None, Condition | None]:
    return find_condition(old.conditions, type_), find_condition(new.conditions, type_)
