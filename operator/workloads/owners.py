"""Which owner to look at when an object changes, whatever kind the two are of.

The wake-ups of both controllers stand upon it; it enqueues keys and decides nothing.
"""

from dataclasses import dataclass

from kube_runtime.expectations import Expectations
from kube_runtime.resource import Json, Key, controller_uid_of, labels_of, uid_of
from kube_runtime.store import Store
from kube_runtime.workqueue import WorkQueue
from workloads.selecting import selects


@dataclass(frozen=True, slots=True)
class Owners:
    """The owners of one kind, and the queue of their controller."""

    queue: WorkQueue[Key]
    expectations: Expectations[Key]
    store: Store

    def changed(self, old: Json | None, new: Json | None) -> None:
        """Look at an owner that came, changed or went."""
        obj = new or old
        if obj is None:
            return
        key = Key.of(obj)
        if new is None:
            self.expectations.forget(key)
        self.queue.add(key)

    def wake_controller_of(self, obj: Json) -> Key | None:
        """Enqueue the owner that controls the object; None when it is none that we know."""
        uid = controller_uid_of(obj)
        if uid is None:
            return None
        name = next(
            reference["name"]
            for reference in obj["metadata"]["ownerReferences"]
            if reference["uid"] == uid
        )
        key = Key(obj["metadata"]["namespace"], name)
        owner = self.store.get(key)
        if owner is None or uid_of(owner) != uid:
            return None
        self.queue.add(key)
        return key

    def wake_adopters_of(self, orphan: Json) -> None:
        """Enqueue every owner whose selector matches the orphan."""
        labels = labels_of(orphan)
        for owner in self.store.list(orphan["metadata"]["namespace"]):
            if selects(owner, labels):
                self.queue.add(Key.of(owner))
