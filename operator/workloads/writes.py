"""How both controllers write: what an error says about the outcome, and the status.

An outcome is known when the server answered, unknown after a timeout, a broken connection or a 5xx.
Requests whose names and UIDs were chosen beforehand may be repeated until it is known.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.errors import ApiError, KubeError, RequestTimeout, ServerError, Unreachable
from kube_runtime.resource import Json, Resource
from workloads import names

T = TypeVar("T")

_DELAYS_SECONDS: Final = (0.1, 0.4, 1.6)
UNKNOWN_OUTCOME: Final = (Unreachable, RequestTimeout, ServerError)


def is_outcome_known(error: Exception) -> bool:
    """Tell whether the request certainly did nothing."""
    return not isinstance(error, UNKNOWN_OUTCOME)


async def until_known(request: Callable[[], Awaitable[T]], clock: Clock) -> T:
    """Repeat a request that may be repeated, a few times, until its outcome is known."""
    for delay in _DELAYS_SECONDS:
        try:
            return await request()
        except UNKNOWN_OUTCOME as error:
            await clock.sleep(max(delay, error.retry_after or 0.0))
    return await request()


def is_namespace_terminating(error: KubeError) -> bool:
    """Tell whether nothing can be created since the whole namespace is going away."""
    if not isinstance(error, ApiError):
        return False
    causes = error.details.get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


async def write_status(api: ApiClient, resource: Resource, cached: Json, status: Json) -> Json:
    """Replace the status of the object as it was cached; raise Conflict if it has changed."""
    return await api.replace(
        resource,
        {**cached, "status": status},
        subresource="status",
        field_manager=names.FIELD_MANAGER,
    )


async def for_all(
    items: tuple[T, ...], act: Callable[[T], Awaitable[None]], *, max_in_flight: int
) -> None:
    """Act on all items at once, at most so many in flight."""
    limit = asyncio.Semaphore(max_in_flight)

    async def bounded(item: T) -> None:
        async with limit:
            await act(item)

    async with asyncio.TaskGroup() as group:
        for item in items:
            group.create_task(bounded(item))
