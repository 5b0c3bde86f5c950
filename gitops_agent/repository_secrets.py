"""Read repository Secrets, a namespace at a time, and keep them for some seconds.

A storm of events must not become a storm of reads; values are not kept for longer than that.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

from gitops_agent.names import REPOSITORY_SECRET_TYPE, SECRET_TYPE_LABEL
from gitops_agent.source.credentials import Credentials, select
from gitops_agent.source.urls import RepositoryUrl
from kube_runtime.api import ApiClient
from kube_runtime.resource import SECRETS, Json

_KEPT_SECONDS: Final = 15.0
_SELECTOR: Final = f"{SECRET_TYPE_LABEL}={REPOSITORY_SECRET_TYPE}"


class RepositorySecrets:
    """Finds the credentials of repositories."""

    def __init__(self, api: ApiClient, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._monotonic = monotonic
        self._read: dict[str, tuple[Sequence[Json], float]] = {}

    async def of(self, namespace: str, url: RepositoryUrl) -> Credentials:
        """Return the credentials for this URL in this namespace, or ANONYMOUS."""
        secrets, at = self._read.get(namespace, ((), float("-inf")))
        if self._monotonic() - at > _KEPT_SECONDS:
            answer = await self._api.list(SECRETS, namespace=namespace, label_selector=_SELECTOR)
            secrets = answer.items
            now = self._monotonic()
            self._read = {n: e for n, e in self._read.items() if now - e[1] <= _KEPT_SECONDS}
            self._read[namespace] = secrets, now
        return select(secrets, url)

    def forget(self, namespace: str) -> None:
        """Read this namespace anew the next time."""
        self._read.pop(namespace, None)
