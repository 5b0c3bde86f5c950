"""All mirrors of this process: from an Application's URL and credentials to commits and files.

Mirrors are kept apart by the Secret that opens them: who has no credentials for a private repository
cannot read it out of the cache of somebody who has.
"""

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from gitops_agent.errors import GitFailed
from gitops_agent.source.command import GitLimits
from gitops_agent.source.credentials import Credentials
from gitops_agent.source.mirror import GitObserver, Mirror
from gitops_agent.source.refs import Commit
from gitops_agent.source.tree import Entry, Tree, TreeLimits, read_files, read_tree
from gitops_agent.source.urls import RepositoryUrl

_REMEMBERED_TREES: Final = 8
_Place = tuple[Path, Commit]


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """What a repository may cost."""

    git: GitLimits = field(default_factory=GitLimits)
    tree: TreeLimits = field(default_factory=TreeLimits)


class Sources:
    """The mirrors below one cache folder, made when first asked for."""

    def __init__(
        self,
        cache: Path,
        *,
        limits: SourceLimits,
        observer: GitObserver,
        on_moved: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._cache = cache
        self._limits = limits
        self._observer = observer
        self._on_moved = on_moved
        self._mirrors: dict[str, Mirror] = {}
        # A hundred Applications of one repository look at the same commit: listed once.
        self._trees: OrderedDict[_Place, Tree] = OrderedDict()
        self._listing: dict[_Place, asyncio.Lock] = {}

    def mark_stale(self, index_key: str) -> None:
        """Note that somebody says this repository has changed."""
        for mirror in self._mirrors.values():
            if mirror.url.index_key == index_key:
                mirror.mark_stale()

    async def resolve(
        self,
        url: RepositoryUrl,
        target: str,
        credentials: Credentials,
        *,
        max_age_seconds: float,
    ) -> Commit:
        """Return the commit that the target names now; tells all others when the refs have moved."""
        mirror = self._mirror(url, credentials)
        before = mirror.known_refs
        refs = await mirror.refs(credentials, max_age_seconds=max_age_seconds)
        if before is not None and before != refs:
            self._on_moved(url.index_key)
        return refs.resolve(target)

    async def tree(self, url: RepositoryUrl, commit: Commit, credentials: Credentials) -> Tree:
        """Return the listing of a commit, fetched if need be."""
        mirror = self._mirror(url, credentials)
        key = (mirror.path, commit)
        async with self._listing.setdefault(key, asyncio.Lock()):
            try:
                if key not in self._trees:
                    await mirror.ensure(commit, credentials)
                    self._trees[key] = await asyncio.to_thread(
                        read_tree, mirror.path, commit, self._limits.tree
                    )
                self._trees.move_to_end(key)
                while len(self._trees) > _REMEMBERED_TREES:
                    self._trees.popitem(last=False)
                return self._trees[key]
            finally:
                self._listing.pop(key, None)

    async def files(
        self, url: RepositoryUrl, credentials: Credentials, files: Iterable[tuple[str, Entry]]
    ) -> dict[str, bytes]:
        """Return the bytes of files of a tree."""
        mirror = self._mirror(url, credentials)
        try:
            return await asyncio.to_thread(read_files, mirror.path, list(files), self._limits.tree)
        except GitFailed:
            # Somebody has emptied the cache folder, say: the next attempt fetches anew.
            mirror.forget()
            self._trees = OrderedDict(
                (key, tree) for key, tree in self._trees.items() if key[0] != mirror.path
            )
            raise

    def _mirror(self, url: RepositoryUrl, credentials: Credentials) -> Mirror:
        name = hashlib.sha256(f"{url}\0{credentials.identity}".encode()).hexdigest()[:32]
        if name not in self._mirrors:
            self._cache.mkdir(parents=True, exist_ok=True)
            path = self._cache / f"{name}.git"
            self._mirrors[name] = Mirror(
                url, path, limits=self._limits.git, observer=self._observer
            )
        return self._mirrors[name]
