"""Counts a namespace's active pods by a watch of its own, and remembers the most there ever were."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from kube_runtime.api import ApiClient
from kube_runtime.resource import Json, is_deleting
from tests.pod_watch import following_pods

_ENDED = ("Succeeded", "Failed")


@dataclass
class Census:
    """The active pods of a namespace, now and at their peak."""

    active: set[str] = field(default_factory=set)
    most: int = 0
    created: int = 0

    def note(self, type_: str, pod: Json) -> None:
        name = pod["metadata"]["name"]
        is_ended = (pod.get("status") or {}).get("phase") in _ENDED
        if type_ == "ADDED":
            self.created += 1
        if type_ == "DELETED" or is_deleting(pod) or is_ended:
            self.active.discard(name)
        else:
            self.active.add(name)
        self.most = max(self.most, len(self.active))


@asynccontextmanager
async def census(api: ApiClient, namespace: str) -> AsyncIterator[Census]:
    """Count from now on; a watch that fails fails the block."""
    counted = Census()
    async with following_pods(api, namespace, counted.note):
        yield counted
