"""Kopf's part: its own watch on Applications wakes the controller up, and does nothing else.

The truth is the informer's; an event that Kopf misses is made up for by it, and one that the informer
misses is noticed by comparing resourceVersions.
"""

from collections.abc import Callable
from typing import Any

import kopf

from gitops_agent.names import APPLICATIONS
from kube_runtime.freshness import Freshness
from kube_runtime.resource import Key


def register(
    registry: kopf.OperatorRegistry, *, wake: Callable[[Key], None], freshness: Freshness
) -> None:
    """Put our one handler into a registry."""

    # async, since Kopf runs plain functions in threads, and the queue belongs to the loop.
    @kopf.on.event(APPLICATIONS.group, APPLICATIONS.version, APPLICATIONS.plural, registry=registry)
    async def application_changed(body: kopf.Body, **_: Any) -> None:
        freshness.saw(body.metadata.get("resourceVersion", ""))
        wake(Key.of(dict(body)))
