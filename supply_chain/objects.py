"""Objects read one by one when they are needed, and remembered for a moment.

Secrets, ConfigMaps and ServiceAccounts are never listed: listing all Secrets of a cluster is a
right that an admission webhook must not have.
"""

from collections import OrderedDict
from typing import Final

from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.errors import KubeError, NotFound
from kube_runtime.resource import Json, Key, Resource
from supply_chain.errors import MaterialUnavailable
from supply_chain.single_flight import SingleFlight

_MAX_ENTRIES: Final = 1024


class ObjectReader:
    """Reads objects of one kind; an answer, also "there is none", holds for `ttl_seconds`."""

    def __init__(
        self,
        api: ApiClient,
        resource: Resource,
        *,
        ttl_seconds: float = 15.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api = api
        self._resource = resource
        self._ttl_seconds = ttl_seconds
        self._clock = clock
        self._kept: OrderedDict[Key, tuple[float, Json | None]] = OrderedDict()
        self._flights = SingleFlight[Key, Json | None]()

    async def get(self, namespace: str, name: str) -> Json | None:
        """Return the object, None if there is none; raises MaterialUnavailable."""
        key = Key(namespace, name)
        until, kept = self._kept.get(key, (0.0, None))
        if self._clock.monotonic() < until:
            return kept
        found = await self._flights.run(key, lambda: self._read(key))
        self._kept[key] = (self._clock.monotonic() + self._ttl_seconds, found)
        self._kept.move_to_end(key)
        while len(self._kept) > _MAX_ENTRIES:
            self._kept.popitem(last=False)
        return found

    async def _read(self, key: Key) -> Json | None:
        try:
            return await self._api.get(self._resource, key.name, namespace=key.namespace or None)
        except NotFound:
            return None
        except KubeError as error:
            raise MaterialUnavailable(
                f"{self._resource.kind} {key} cannot be read: {error.diagnostics()}"
            ) from error
