"""Follows a namespace's pods by a watch of its own, for those who count them as they come and go."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kube_runtime.api import ApiClient
from kube_runtime.resource import PODS, Json


@asynccontextmanager
async def following_pods(
    api: ApiClient, namespace: str, note: Callable[[str, Json], None]
) -> AsyncIterator[None]:
    """Note those that are there as LISTED, then each event; a watch that fails fails the block."""
    start = await api.list(PODS, namespace=namespace)
    for pod in start.items:
        note("LISTED", pod)

    async def follow() -> None:
        version = start.resource_version
        while True:
            async for event in api.watch(PODS, namespace=namespace, resource_version=version):
                version = event.object["metadata"]["resourceVersion"]
                if event.type != "BOOKMARK":
                    note(event.type, event.object)

    task = asyncio.create_task(follow())
    try:
        yield
        if task.done():
            task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
