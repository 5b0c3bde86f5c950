"""The schemas of the cluster's kinds, asked for once per group and version and kept by their hash."""

import asyncio
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from gitops_agent.diff.schema import ANY, Schema, for_kind
from kube_runtime.api import ApiClient
from kube_runtime.errors import KubeError
from kube_runtime.resource import Json, Resource

_INDEX_SECONDS: Final = 300.0


class Schemas:
    """Answers with a kind's schema; ANY where the server publishes none."""

    def __init__(self, api: ApiClient, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._api = api
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._index: Json = {}
        self._index_at = float("-inf")
        self._documents: dict[str, Json] = {}
        self._schemas: dict[tuple[str, str], Schema] = {}

    async def of(self, resource: Resource) -> Schema:
        """Return the schema of a kind, as fresh as the index, which is read every five minutes."""
        async with self._lock:
            url = await self._url(resource)
            if url is None:
                return ANY
            if (found := self._schemas.get((url, resource.kind))) is not None:
                return found
            document = self._documents.get(url) or await self._fetch(url)
            self._documents[url] = document
            schema = for_kind(document, resource.group, resource.version, resource.kind)
            self._schemas[url, resource.kind] = schema
            return schema

    async def _url(self, resource: Resource) -> str | None:
        prefix = "apis" if resource.group else "api"
        path = f"{prefix}/{resource.api_version}"
        is_old = self._monotonic() - self._index_at > _INDEX_SECONDS
        if is_old or path not in self._index:
            await self._refresh()
        entry = self._index.get(path) or {}
        url: str | None = entry.get("serverRelativeURL")
        return url

    async def _refresh(self) -> None:
        try:
            self._index = (await self._api.request("GET", "/openapi/v3")).get("paths") or {}
        except KubeError:
            if not self._index:
                return  # without schemas the server's dry run decides alone
        self._index_at = self._monotonic()
        current = {entry.get("serverRelativeURL") for entry in self._index.values()}
        self._documents = {url: doc for url, doc in self._documents.items() if url in current}
        self._schemas = {key: value for key, value in self._schemas.items() if key[0] in current}

    async def _fetch(self, url: str) -> Json:
        parts = urlsplit(url)
        try:
            return await self._api.request("GET", parts.path, params=dict(parse_qsl(parts.query)))
        except KubeError:
            return {}
