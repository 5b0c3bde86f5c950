"""Kopf's wake-up for Applications: a key for the queue, and the version that was seen."""

from typing import Any

import kopf

from gitops_agent import handlers
from gitops_agent.names import APPLICATIONS
from kube_runtime.freshness import Freshness
from kube_runtime.resource import Key
from kube_runtime.store import Store


class Informer:
    """An informer that is at version 5 and counts how often it was asked to list."""

    resource = APPLICATIONS

    def __init__(self) -> None:
        self.store = Store()
        self.store.resource_version = "5"
        self.relists = 0

    async def relist(self) -> None:
        """Count."""
        self.relists += 1


async def test_an_event_wakes_its_application_up_and_shows_a_stale_informer() -> None:
    registry, informer = kopf.OperatorRegistry(), Informer()
    freshness = Freshness(informer, grace_seconds=0)
    woken: list[Key] = []
    handlers.register(registry, wake=woken.append, freshness=freshness)

    (handler,) = registry._watching.get_all_handlers()  # no public way to call one
    event: Any = handler.fn
    raw: Any = {"metadata": {"name": "web", "namespace": "shop", "resourceVersion": "9"}}
    returned = await event(body=kopf.Body(raw))
    await freshness.look()

    assert woken == [Key("shop", "web")]
    assert informer.relists == 1
    assert returned is None  # else Kopf would write it into the status
