"""Which PodSets to look at when a pod or a PodSet changes, and which expectations came true.

Called by the informers, in order and synchronously: it enqueues keys and returns.
Nothing is lost when a call is: the resync comes by, and expectations that get old are looked into.
"""

from dataclasses import dataclass

from kube_runtime.expectations import Expectations
from kube_runtime.resource import (
    Json,
    Key,
    controller_uid_of,
    is_deleting,
    labels_of,
    uid_of,
)
from kube_runtime.store import Store
from kube_runtime.workqueue import WorkQueue
from workloads.selecting import may_match_anew, selects


@dataclass(frozen=True, slots=True)
class PodSetWakeUps:
    """The handlers of the PodSet controller."""

    queue: WorkQueue[Key]
    expectations: Expectations[Key]
    podsets: Store

    def on_podset(self, old: Json | None, new: Json | None) -> None:
        """Look at a PodSet that came, changed or went."""
        obj = new or old
        if obj is None:
            return
        key = Key.of(obj)
        if new is None:
            self.expectations.forget(key)
        self.queue.add(key)

    def on_pod(self, old: Json | None, new: Json | None) -> None:
        """Look at the owner of a pod, or at whoever may adopt it."""
        if new is None:
            if old is not None:
                self._gone(old)
            return
        if old is not None and controller_uid_of(old) != controller_uid_of(new):
            self._wake_owner(old)
        if is_deleting(new):
            self._gone(new)
            if old is not None and labels_of(old) != labels_of(new):
                self._wake_owner(old)
            return
        owner = self._wake_owner(new)
        if owner is not None:
            self.expectations.creation_observed(owner, new["metadata"]["name"])
        elif controller_uid_of(new) is None and may_match_anew(old, new):
            self._wake_adopters(new)

    def _gone(self, pod: Json) -> None:
        owner = self._wake_owner(pod)
        if owner is not None:
            # A pod that we made may be seen for the first time when it is being deleted already.
            self.expectations.creation_observed(owner, pod["metadata"]["name"])
            self.expectations.deletion_observed(owner, uid_of(pod))

    def _wake_owner(self, pod: Json) -> Key | None:
        """Enqueue the PodSet that controls the pod; None when it is none that we know."""
        uid = controller_uid_of(pod)
        if uid is None:
            return None
        name = next(
            reference["name"]
            for reference in pod["metadata"]["ownerReferences"]
            if reference["uid"] == uid
        )
        key = Key(pod["metadata"]["namespace"], name)
        owner = self.podsets.get(key)
        if owner is None or uid_of(owner) != uid:
            return None
        self.queue.add(key)
        return key

    def _wake_adopters(self, pod: Json) -> None:
        labels = labels_of(pod)
        for podset in self.podsets.list(pod["metadata"]["namespace"]):
            if selects(podset, labels):
                self.queue.add(Key.of(podset))
