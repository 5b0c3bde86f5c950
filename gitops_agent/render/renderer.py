"""Commit to documents, through a cache that is keyed by content and by nothing else.

The key holds what was read (file ids of the directories that count), the parameters and the tool;
a commit that changes none of it is a hit. `fresh=True` skips the cache: the proof that prune needs.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import orjson

from gitops_agent.errors import RenderFailed
from gitops_agent.render import kustomization
from gitops_agent.render.directory import (
    DirectoryOptions,
    check_patterns,
    is_selected,
    read_directory,
)
from gitops_agent.render.kustomization import KustomizeOptions
from gitops_agent.render.kustomize import Kustomize
from gitops_agent.render.manifests import flatten
from gitops_agent.source.credentials import Credentials
from gitops_agent.source.refs import Commit
from gitops_agent.source.sources import Sources
from gitops_agent.source.tree import Entry, Tree, checked_path
from gitops_agent.source.urls import RepositoryUrl
from kube_runtime.resource import Json

_CACHED_BYTES: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """What to render: one path of one commit, in one way."""

    url: RepositoryUrl
    commit: Commit
    path: str
    directory: DirectoryOptions | None
    kustomize: KustomizeOptions | None


class RenderObserver(Protocol):
    """Is told of every render."""

    def rendered(self, tool: str, *, cached: bool) -> None:
        """Count one render by tool: directory or kustomize."""


class Renderer:
    """Renders, remembering results by content up to a bound in bytes."""

    def __init__(self, sources: Sources, kustomize: Kustomize, observer: RenderObserver) -> None:
        self._sources = sources
        self._kustomize = kustomize
        self._observer = observer
        self._cache: OrderedDict[str, bytes] = OrderedDict()
        self._cached_bytes = 0

    async def render(
        self, request: RenderRequest, credentials: Credentials, *, fresh: bool = False
    ) -> list[tuple[str, Json]]:
        """Return every object with its source; raises a GitOpsError, never yields a part."""
        path = checked_path(request.path)
        tree = await self._sources.tree(request.url, request.commit, credentials)
        if not tree.is_directory(path):
            raise RenderFailed(f"spec.source.path: {path!r} is no directory at {request.commit}")
        if _is_kustomize(request, tree, path):
            return await self._kustomized(request, tree, path, credentials, fresh=fresh)
        return await self._plain(request, tree, path, credentials, fresh=fresh)

    async def _plain(
        self,
        request: RenderRequest,
        tree: Tree,
        path: str,
        credentials: Credentials,
        *,
        fresh: bool,
    ) -> list[tuple[str, Json]]:
        options = request.directory or DirectoryOptions()
        check_patterns(options)
        files = await asyncio.to_thread(_selected, tree, path, options)
        key = _key("directory", files)
        if (found := self._look_up(key, "directory", fresh=fresh)) is not None:
            return found
        data = await self._sources.files(request.url, credentials, files)
        objects = await asyncio.to_thread(lambda: flatten(read_directory(data)))
        return self._remember(key, objects)

    async def _kustomized(
        self,
        request: RenderRequest,
        tree: Tree,
        path: str,
        credentials: Credentials,
        *,
        fresh: bool,
    ) -> list[tuple[str, Json]]:
        options = request.kustomize or KustomizeOptions()
        directories = await self._directories(request, tree, path, credentials)
        files = await asyncio.to_thread(_all_below, tree, directories)
        tool = await asyncio.to_thread(self._kustomize.identity)
        key = _key(f"{tool}\0{path}\0{options}", sorted(files.items()))
        if (found := self._look_up(key, "kustomize", fresh=fresh)) is not None:
            return found
        data = await self._sources.files(request.url, credentials, files.items())
        documents = await self._kustomize.build(data, path, options)
        return self._remember(key, await asyncio.to_thread(flatten, documents))

    async def _directories(
        self, request: RenderRequest, tree: Tree, path: str, credentials: Credentials
    ) -> tuple[str, ...]:
        """Walk the kustomizations; all of a commit's are read at once, as each is small."""
        files = list(tree.named(kustomization.FILE_NAMES))
        read = await self._sources.files(request.url, credentials, files)
        by_oid = {entry.oid: read[shown] for shown, entry in files}
        return kustomization.directories_read(tree, path, lambda entry: by_oid[entry.oid])

    def _look_up(self, key: str, tool: str, *, fresh: bool) -> list[tuple[str, Json]] | None:
        found = None if fresh else self._cache.get(key)
        self._observer.rendered(tool, cached=found is not None)
        if found is None:
            return None
        self._cache.move_to_end(key)
        return [(source, obj) for source, obj in orjson.loads(found)]

    def _remember(self, key: str, objects: list[tuple[str, Json]]) -> list[tuple[str, Json]]:
        data = orjson.dumps(objects)
        self._cached_bytes += len(data) - len(self._cache.pop(key, b""))
        self._cache[key] = data
        while self._cached_bytes > _CACHED_BYTES and self._cache:
            _, dropped = self._cache.popitem(last=False)
            self._cached_bytes -= len(dropped)
        return objects


def _is_kustomize(request: RenderRequest, tree: Tree, path: str) -> bool:
    if request.kustomize is not None:
        return True
    found = kustomization.kustomization_at(tree, path)
    return request.directory is None and found is not None


# Both walk through the commit, which may take seconds where it is large: not in the loop.


def _selected(tree: Tree, path: str, options: DirectoryOptions) -> list[tuple[str, Entry]]:
    return [
        (shown, entry)
        for shown, entry in tree.files_below(path)
        if is_selected(_below(path, shown), options)
    ]


def _all_below(tree: Tree, directories: Iterable[str]) -> dict[str, Entry]:
    return dict(file for name in directories for file in tree.files_below(name))


def _below(path: str, shown: str) -> str:
    return shown.removeprefix(f"{path}/") if path else shown


def _key(parameters: str, files: Sequence[tuple[str, Entry]]) -> str:
    listing = [[path, entry.mode, entry.oid] for path, entry in files]
    return hashlib.sha256(orjson.dumps([parameters, listing])).hexdigest()
