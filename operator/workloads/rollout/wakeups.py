"""Which Rollouts to look at when a PodSet or a Rollout changes.

Called by the informers, in order and synchronously: it enqueues keys and returns.
"""

from dataclasses import dataclass

from kube_runtime.expectations import Expectations
from kube_runtime.resource import Json, Key, controller_of, controller_uid_of, labels_of, uid_of
from kube_runtime.store import Store
from kube_runtime.workqueue import WorkQueue
from workloads.selecting import may_match_anew, selects


@dataclass(frozen=True, slots=True)
class RolloutWakeUps:
    """The handlers of the Rollout controller."""

    queue: WorkQueue[Key]
    expectations: Expectations[Key]
    rollouts: Store

    def on_rollout(self, old: Json | None, new: Json | None) -> None:
        """Look at a Rollout that came, changed or went."""
        obj = new or old
        if obj is None:
            return
        key = Key.of(obj)
        if new is None:
            self.expectations.forget(key)
        self.queue.add(key)

    def on_podset(self, old: Json | None, new: Json | None) -> None:
        """Look at the owner of a PodSet, the former one too, or at whoever may adopt it."""
        if old is not None and (new is None or controller_uid_of(old) != controller_uid_of(new)):
            self._wake_owner(old)
        if new is None:
            return
        if controller_uid_of(new) is not None:
            self._wake_owner(new)
        elif may_match_anew(old, new):
            self._wake_adopters(new)

    def _wake_owner(self, podset: Json) -> None:
        controller = controller_of(podset)
        if controller is None:
            return
        key = Key(podset["metadata"]["namespace"], controller.name)
        owner = self.rollouts.get(key)
        if owner is not None and uid_of(owner) == controller.uid:
            self.queue.add(key)

    def _wake_adopters(self, podset: Json) -> None:
        labels = labels_of(podset)
        for rollout in self.rollouts.list(podset["metadata"]["namespace"]):
            if selects(rollout, labels):
                self.queue.add(Key.of(rollout))
