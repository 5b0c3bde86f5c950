"""Kopf's part: it watches our two kinds on a stream of its own and wakes the controllers up.

The only module of this part that imports kopf. Handlers enqueue a key, note the version that was
seen, and return None (a returned value would be written into the object's status). No logic.
"""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import kopf

from kube_runtime.freshness import Freshness
from kube_runtime.resource import Key, Resource
from kube_runtime.workqueue import WorkQueue
from workloads import names
from workloads.controllers import Controllers


def register(registry: kopf.OperatorRegistry, controllers: Controllers) -> None:
    """Register a wake-up for each of our kinds."""
    podset, rollout = controllers.podset, controllers.rollout
    _wake_up(registry, names.PODSETS, podset.queue, controllers.podset_freshness)
    _wake_up(registry, names.ROLLOUTS, rollout.queue, controllers.rollout_freshness)


def _wake_up(
    registry: kopf.OperatorRegistry,
    resource: Resource,
    queue: WorkQueue[Key],
    freshness: Freshness,
) -> None:
    handler = _handler(queue, freshness)
    kopf.on.event(
        resource.group,
        resource.version,
        resource.plural,
        registry=registry,
        id=f"wake-{resource.plural}",
    )(handler)


def _handler(
    queue: WorkQueue[Key], freshness: Freshness
) -> Callable[..., Coroutine[Any, Any, None]]:
    # async, since Kopf runs plain functions in threads, and the queue belongs to the loop.
    async def wake(meta: Mapping[str, Any], **_: object) -> None:
        freshness.saw(str(meta.get("resourceVersion", "")))
        queue.add(Key(str(meta.get("namespace") or ""), str(meta["name"])))

    return wake
