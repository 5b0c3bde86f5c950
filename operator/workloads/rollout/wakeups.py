"""Which Rollouts to look at when a PodSet or a Rollout changes.

Called by the informers, in order and synchronously: it enqueues keys and returns.
"""

from kube_runtime.resource import Json, controller_uid_of
from workloads.owners import Owners
from workloads.selecting import may_match_anew


class RolloutWakeUps(Owners):
    """The handlers of the Rollout controller."""

    __slots__ = ()

    def on_rollout(self, old: Json | None, new: Json | None) -> None:
        """Look at a Rollout that came, changed or went."""
        self.changed(old, new)

    def on_podset(self, old: Json | None, new: Json | None) -> None:
        """Look at the owner of a PodSet, the former one too, or at whoever may adopt it."""
        if old is not None and (new is None or controller_uid_of(old) != controller_uid_of(new)):
            self.wake_controller_of(old)
        if new is None:
            return
        if controller_uid_of(new) is not None:
            self.wake_controller_of(new)
        elif may_match_anew(old, new):
            self.wake_adopters_of(new)
