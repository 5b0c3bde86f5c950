"""Kopf's wake-ups for the policies: a key for the queue, and the version that was seen."""

from typing import Any

import kopf
import pytest

from kube_runtime.freshness import Freshness
from kube_runtime.resource import Key, Resource
from kube_runtime.store import Store
from kube_runtime.workqueue import WorkQueue
from supply_chain import handlers, names


class Informer:
    """An informer that counts how often it was asked to list."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.store = Store()
        self.store.resource_version = "5"
        self.relists = 0

    async def relist(self) -> None:
        """Count, and be as new as the cluster."""
        self.relists += 1


@pytest.mark.parametrize(
    ("resource", "meta", "key"),
    [
        (names.CLUSTER_IMAGE_POLICIES, {"name": "all"}, Key("", "all")),
        (names.IMAGE_POLICIES, {"name": "mine", "namespace": "shop"}, Key("shop", "mine")),
    ],
)
async def test_an_event_wakes_its_own_queue_up_and_shows_a_stale_informer(
    resource: Resource, meta: dict[str, Any], key: Key
) -> None:
    registry = kopf.OperatorRegistry()
    queues: dict[Resource, WorkQueue[Key]] = {}
    informers: dict[Resource, Informer] = {}
    freshness: dict[Resource, Freshness] = {}
    for each in (names.CLUSTER_IMAGE_POLICIES, names.IMAGE_POLICIES):
        queues[each], informers[each] = WorkQueue(each.plural), Informer(each)
        freshness[each] = Freshness(informers[each], grace_seconds=0)
    handlers.register(registry, {each: (queues[each], freshness[each]) for each in queues})

    for handler in registry._watching.get_all_handlers():  # no public way to call one
        if handler.selector is not None and handler.selector.any_name == resource.plural:
            wake: Any = handler.fn
            await wake(meta={**meta, "resourceVersion": "9"})
    await freshness[resource].look()

    assert [each for each, queue in queues.items() if queue.depth] == [resource]
    assert await queues[resource].get() == key
    assert {each: informer.relists for each, informer in informers.items()} == {
        each: int(each is resource) for each in informers
    }
