"""One bare mirror of a repository on this machine's disk, and what is known of its server's refs.

A mirror has no working tree, so nobody waits for a checkout; objects are never collected, so the last
good commit stays readable when its branch is gone. All network calls of a mirror are single flight.
"""

import asyncio
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import git
from git.exc import GitCommandError, GitError

from gitops_agent.errors import GitFailed, RevisionNotFound
from gitops_agent.source.command import GitLimits, run_git
from gitops_agent.source.credentials import Credentials
from gitops_agent.source.refs import Commit, RefSnapshot
from gitops_agent.source.tree import local_environment, open_mirror
from gitops_agent.source.urls import RepositoryUrl

_READ_TIMEOUT_SECONDS: Final = 30.0
_REMEMBERED_COMMITS: Final = 100
_SAID: Final = 300
_FETCH: Final = ("fetch", "--quiet", "--force", "--no-tags", "--no-write-fetch-head", "--prune")
_EVERYTHING: Final = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


class GitObserver(Protocol):
    """Is told of every network request to a repository."""

    def git_requested(self, request: str, result: str, seconds: float) -> None:
        """Count one request: ls-remote or fetch, and `ok` or the error's reason."""


class Mirror:
    """A repository as its server shows it to one set of credentials."""

    def __init__(
        self,
        url: RepositoryUrl,
        path: Path,
        *,
        limits: GitLimits,
        observer: GitObserver,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = url
        self.path = path
        self._limits = limits
        self._observer = observer
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._snapshot: RefSnapshot | None = None
        self._taken_at = 0.0
        self._hints_wanted = 0
        self._hints_served = 0
        self._present: dict[Commit, None] = {}
        self._is_clean = False

    @property
    def known_refs(self) -> RefSnapshot | None:
        """The refs as last seen, of whatever age."""
        return self._snapshot

    def mark_stale(self) -> None:
        """Make the next look at the refs ask the server, as a push may have happened."""
        self._hints_wanted += 1

    def forget(self) -> None:
        """Believe no longer that any commit is here."""
        self._present.clear()

    async def refs(self, credentials: Credentials, *, max_age_seconds: float) -> RefSnapshot:
        """Return the refs, not older than asked for; a hint makes them too old at once."""
        async with self._lock:
            if self._snapshot is None or not self._is_fresh(max_age_seconds):
                wanted = self._hints_wanted
                self._snapshot = await self._list_refs(credentials)
                self._taken_at, self._hints_served = self._monotonic(), wanted
            return self._snapshot

    async def ensure(self, commit: Commit, credentials: Credentials) -> None:
        """Have the commit's objects here, fetching once for all who ask; raises RevisionNotFound."""
        async with self._lock:
            if commit in self._present and await asyncio.to_thread(self.path.exists):
                return
            await asyncio.to_thread(_create, self.path)
            if not self._is_clean:
                # Of a git that was killed: by our time limit, or with the process before us.
                await asyncio.to_thread(_sweep, self.path)
            if await asyncio.to_thread(_has_commit, self.path, commit):
                self._note(commit)
                return
            self._is_clean = False
            await self._run("fetch", [*_FETCH, str(self.url), *_EVERYTHING], credentials)
            self._is_clean = True
            if not await asyncio.to_thread(_has_commit, self.path, commit):
                await self._fetch_alone(commit, credentials)
            self._note(commit)

    def _note(self, commit: Commit) -> None:
        """Remember a few commits as present: nothing is ever collected from a mirror."""
        self._present[commit] = None
        while len(self._present) > _REMEMBERED_COMMITS:
            del self._present[next(iter(self._present))]

    async def _fetch_alone(self, commit: Commit, credentials: Credentials) -> None:
        """Ask for a commit that no branch or tag reaches, such as a pull request's."""
        wanted = f"+{commit}:refs/levelset/{commit}"
        try:
            await self._run("fetch", [*_FETCH[:-1], str(self.url), wanted], credentials)
        except GitFailed as error:
            raise RevisionNotFound(f"{self.url}: has no commit {commit}") from error

    def _is_fresh(self, max_age_seconds: float) -> bool:
        is_young = self._monotonic() - self._taken_at < max_age_seconds
        return is_young and self._hints_served == self._hints_wanted

    async def _list_refs(self, credentials: Credentials) -> RefSnapshot:
        output = await self._run("ls-remote", ["ls-remote", "--symref", str(self.url)], credentials)
        return await asyncio.to_thread(RefSnapshot.parse, output)  # 2 s for half a million

    async def _run(self, request: str, arguments: list[str], credentials: Credentials) -> bytes:
        started, result = self._monotonic(), "cancelled"
        cwd = self.path if request == "fetch" else None
        try:
            output = await run_git(
                arguments, url=self.url, credentials=credentials, cwd=cwd, limits=self._limits
            )
            result = "ok"
        except GitFailed as error:
            result = error.reason
            raise
        finally:
            self._observer.git_requested(request, result, self._monotonic() - started)
        return output


def _create(path: Path) -> None:
    """Make the bare repository in one step, so that a crash leaves none that is half made."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix="new-", dir=path.parent))
    try:
        maker = git.Git(fresh)
        maker.update_environment(**local_environment(fresh))
        maker.init("--bare", "--quiet", "--template=")  # no template: it could bring hooks
        fresh.rename(path)
    except (GitError, OSError) as error:
        shutil.rmtree(fresh, ignore_errors=True)
        if not path.exists():
            said = " ".join(str(error).split())[:_SAID]
            raise GitFailed(f"{path.parent}: cannot create a mirror: {said}") from error


def _sweep(path: Path) -> None:
    """Remove the lock files and half packs that a killed git leaves: with a lock none can fetch."""
    for pattern in ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/*/tmp_obj_*"):
        for leftover in path.glob(pattern):
            leftover.unlink(missing_ok=True)


def _has_commit(path: Path, commit: Commit) -> bool:
    repository = open_mirror(path)
    try:
        kind = f"{commit}^{{commit}}"
        repository.git.cat_file("-e", kind, kill_after_timeout=_READ_TIMEOUT_SECONDS)
    except GitCommandError:
        return False
    finally:
        repository.close()
    return True
