"""Kopf glue: wake-ups for the policies' status, and nothing else.

The informers are the truth; an event here only puts a key into a queue.
"""

from collections.abc import Mapping
from typing import Any

import kopf

from kube_runtime.resource import Key, Resource
from kube_runtime.workqueue import WorkQueue


def register(registry: kopf.OperatorRegistry, queues: Mapping[Resource, WorkQueue[Key]]) -> None:
    """Register one event handler per kind of policy."""
    for resource, queue in queues.items():
        _wake_up(registry, resource, queue)


def _wake_up(registry: kopf.OperatorRegistry, resource: Resource, queue: WorkQueue[Key]) -> None:
    # async, since Kopf runs plain functions in threads, and the queue belongs to the loop.
    @kopf.on.event(resource.group, resource.version, resource.plural, registry=registry)
    async def wake(name: str, namespace: str | None, **_: Any) -> None:
        queue.add(Key(namespace or "", name))
