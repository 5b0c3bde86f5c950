"""Writes the status of Applications, and remembers what it wrote until the informer has seen it."""

from gitops_agent.names import APPLICATIONS
from gitops_agent.overlay import Overlay
from gitops_agent.resources import Application
from gitops_agent.status import Report, status_json
from kube_runtime.api import ApiClient, PatchType
from kube_runtime.clock import Clock
from kube_runtime.errors import Invalid, NotFound
from kube_runtime.resource import Json, Key


class StatusWriter:
    """The only writer of an Application's status."""

    def __init__(self, api: ApiClient, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._overlay: Overlay[Key] = Overlay(clock.monotonic)

    def newest(self, key: Key, stored: Json) -> Json:
        """Return the Application as it is after our own last write."""
        return self._overlay.newest(key, stored) or stored

    async def write(self, application: Application, report: Report) -> Application:
        """Write the report if it says anything new; returns the Application as it is then."""
        status = status_json(application, report, self._clock.now())
        if status == application.status:
            return application
        key = application.key
        patch: list[Json] = [
            # Not onto another Application of the same name.
            {"op": "test", "path": "/metadata/uid", "value": application.uid},
            {"op": "add", "path": "/status", "value": status},
        ]
        try:
            answer = await self._api.patch(
                APPLICATIONS,
                key.name,
                patch,
                namespace=key.namespace,
                type=PatchType.JSON,
                subresource="status",
            )
        except (NotFound, Invalid):
            if await self._is_there(application):
                raise
            return application  # deleted, or replaced, while we worked
        self._overlay.wrote(key, answer)
        return Application.of(answer)

    async def _is_there(self, application: Application) -> bool:
        key = application.key
        try:
            found = await self._api.get(APPLICATIONS, key.name, namespace=key.namespace)
        except NotFound:
            return False
        return Application.of(found).uid == application.uid
