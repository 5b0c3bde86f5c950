"""Which PodSets to look at when a pod or a PodSet changes, and which expectations came true.

Called by the informers, in order and synchronously: it enqueues keys and returns.
Nothing is lost when a call is: the resync comes by, and expectations that get old are looked into.
"""

from kube_runtime.resource import Json, controller_uid_of, is_deleting, labels_of, uid_of
from workloads.owners import Owners
from workloads.selecting import may_match_anew


class PodSetWakeUps(Owners):
    """The handlers of the PodSet controller."""

    __slots__ = ()

    def on_podset(self, old: Json | None, new: Json | None) -> None:
        """Look at a PodSet that came, changed or went."""
        self.changed(old, new)

    def on_pod(self, old: Json | None, new: Json | None) -> None:
        """Look at the owner of a pod, or at whoever may adopt it."""
        if new is None:
            if old is not None:
                self._gone(old)
            return
        if old is not None and controller_uid_of(old) != controller_uid_of(new):
            self.wake_controller_of(old)
        if is_deleting(new):
            self._gone(new)
            if old is not None and labels_of(old) != labels_of(new):
                self.wake_controller_of(old)
            return
        owner = self.wake_controller_of(new)
        if owner is not None:
            self.expectations.creation_observed(owner, new["metadata"]["name"])
        elif controller_uid_of(new) is None and may_match_anew(old, new):
            self.wake_adopters_of(new)

    def _gone(self, pod: Json) -> None:
        owner = self.wake_controller_of(pod)
        if owner is not None:
            # A pod that we made may be seen for the first time when it is being deleted already.
            self.expectations.creation_observed(owner, pod["metadata"]["name"])
            self.expectations.deletion_observed(owner, uid_of(pod))
