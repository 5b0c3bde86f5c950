"""Kopf glue: wake-ups for the policies' status, and nothing else.

The informers are the truth; an event here only puts a key into a queue, and tells which version
was seen, so that an informer that has fallen behind is noticed.
"""

from collections.abc import Mapping
from typing import Any

import kopf

from kube_runtime.freshness import Freshness
from kube_runtime.resource import Key, Resource
from kube_runtime.workqueue import WorkQueue

Wakeups = Mapping[Resource, tuple[WorkQueue[Key], Freshness]]
"""Per kind of policy: the queue to wake up, and who compares what was seen with the informer."""


def register(registry: kopf.OperatorRegistry, wakeups: Wakeups) -> None:
    """Register one event handler per kind of policy."""
    for resource, (queue, freshness) in wakeups.items():
        _wake_up(registry, resource, queue, freshness)


def _wake_up(
    registry: kopf.OperatorRegistry,
    resource: Resource,
    queue: WorkQueue[Key],
    freshness: Freshness,
) -> None:
    # async, since Kopf runs plain functions in threads, and the queue belongs to the loop.
    @kopf.on.event(resource.group, resource.version, resource.plural, registry=registry)
    async def wake(meta: Mapping[str, Any], **_: Any) -> None:
        freshness.saw(str(meta.get("resourceVersion", "")))
        queue.add(Key(str(meta.get("namespace") or ""), str(meta["name"])))
