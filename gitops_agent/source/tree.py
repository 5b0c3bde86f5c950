"""The files of one commit: listed first, checked against the limits, then read as bytes.

Nothing is checked out: there is no working tree, no filter, no hook and no lock, and a symbolic link
is only a text that is resolved here, inside the commit. What comes out are plain files, so that a
renderer can be given them without a way out of its folder.
"""

import itertools
import posixpath
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import git
from git.exc import GitCommandError, GitError, ODBError

from gitops_agent.errors import GitFailed, LimitExceeded, RevisionNotFound, UnsafePath
from gitops_agent.source.refs import Commit

_LINK: Final = "120000"
_FILES: Final = ("100644", "100755", _LINK)
_MAX_LINKS: Final = 40
_MAX_LINK_BYTES: Final = 4096
_MAX_LISTING_BYTES: Final = 64 * 1024 * 1024
_CHUNK: Final = 1024 * 1024
_MAX_STEPS: Final = 200_000
_MAX_DEPTH: Final = 100
_READ_TIMEOUT_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """How much of a commit one Application may read."""

    entries: int = 200_000
    files: int = 10_000
    file_bytes: int = 4 * 1024 * 1024
    total_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a symbolic link in a commit."""

    mode: str
    oid: str
    size: int


class Tree:
    """All entries of a commit by path, with the targets of its links; pure."""

    def __init__(self, entries: Mapping[str, Entry], links: Mapping[str, str]) -> None:
        self._entries = entries
        self._links = links
        self._children = _children_of([*entries, *links])

    def is_directory(self, path: str) -> bool:
        """Whether the path, links followed, is a directory."""
        real = self._real(path)
        return real == "" or real in self._children

    def file(self, path: str) -> Entry | None:
        """Return the file behind the path, links followed, or None."""
        return self._entries.get(self._real(path))

    def files_below(self, directory: str) -> Iterator[tuple[str, Entry]]:
        """Yield every file below a directory by the path at which it is seen, sorted.

        Raises LimitExceeded for a walk that is too long: with two links a directory to the next one,
        25 directories show 33 million files.
        """
        yield from self._walk(directory, self._real(directory), (), itertools.count())

    def named(self, names: Collection[str]) -> Iterator[tuple[str, Entry]]:
        """Yield the files of these names, each once and where it stands: no directory is entered.

        A link that leads nowhere is passed over, as nobody has asked for it yet.
        """
        for path in sorted(path for path in self._entries if posixpath.basename(path) in names):
            yield path, self._entries[path]
        for path in sorted(path for path in self._links if posixpath.basename(path) in names):
            try:
                entry = self.file(path)
            except UnsafePath:
                continue
            if entry is not None:
                yield path, entry

    def _walk(
        self, shown: str, real: str, seen: tuple[str, ...], steps: Iterator[int]
    ) -> Iterator[tuple[str, Entry]]:
        if real in seen:
            raise UnsafePath(f"{shown}: symbolic links lead in a circle")
        if len(seen) > _MAX_DEPTH:
            raise LimitExceeded(f"{shown[:80]}…: deeper than {_MAX_DEPTH} directories")
        for name in sorted(self._children.get(real, ())):
            if next(steps) >= _MAX_STEPS:
                raise LimitExceeded(
                    f"more than {_MAX_STEPS} files and directories, symbolic links followed; "
                    "narrow the path"
                )
            path, target = posixpath.join(shown, name), self._real(posixpath.join(real, name))
            if target in self._children:
                yield from self._walk(path, target, (*seen, real), steps)
            elif entry := self._entries.get(target):
                yield path, entry

    def _real(self, path: str) -> str:
        """Resolve the links of a path inside the commit; raises UnsafePath where one leads out."""
        todo, done, followed = checked_path(path).split("/"), "", 0
        while todo:
            part = todo.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                if not done:
                    raise UnsafePath(f"{path}: a symbolic link leads out of the repository")
                done = posixpath.dirname(done)
                continue
            done = posixpath.join(done, part)
            if (target := self._links.get(done)) is not None:
                followed += 1
                if followed > _MAX_LINKS or target.startswith("/"):
                    raise UnsafePath(f"{path}: a symbolic link leads out, or in a circle")
                todo, done = [*target.split("/"), *todo], posixpath.dirname(done)
        return done


def checked_path(path: str) -> str:
    """Normalise a path of a spec; raises UnsafePath for one that is absolute or leads out."""
    if path.startswith("/"):
        raise UnsafePath(f"path {path!r}: expected a path relative to the repository's root")
    if "\0" in path or "\\" in path:
        raise UnsafePath(f"path {path!r}: expected a name in UTF-8 without backslashes")
    normal = posixpath.normpath(path) if path else "."
    if normal == ".." or normal.startswith("../"):
        raise UnsafePath(f"path {path!r}: leads out of the repository")
    return "" if normal == "." else normal


def read_tree(mirror: Path, commit: Commit, limits: TreeLimits) -> Tree:
    """List a commit; blocks, so call it in a thread."""
    repository = open_mirror(mirror)
    try:
        entries = _entries(_records(repository, commit, limits))
        links = [path for path, entry in entries.items() if entry.mode == _LINK]
        targets = {path: _link_target(repository, path, entries[path]) for path in links}
    except GitCommandError as error:
        raise RevisionNotFound(f"commit {commit} is not in the repository") from error
    except (GitError, ODBError, OSError, ValueError) as error:
        raise GitFailed(f"commit {commit} cannot be read: {type(error).__name__}") from error
    finally:
        repository.close()
    return Tree({path: entry for path, entry in entries.items() if path not in targets}, targets)


def read_files(
    mirror: Path, files: Iterable[tuple[str, Entry]], limits: TreeLimits
) -> dict[str, bytes]:
    """Read the files' bytes; the limits are checked before the first is read. Blocks."""
    wanted = list(files)
    _check_limits(wanted, limits)
    repository = open_mirror(mirror)
    try:
        return {path: _blob(repository, entry) for path, entry in wanted}
    except (GitError, ODBError, OSError, ValueError) as error:
        raise GitFailed(f"a file cannot be read from the mirror: {type(error).__name__}") from error
    finally:
        repository.close()


def open_mirror(mirror: Path) -> git.Repo:
    """Open a bare mirror, deaf to the configuration and the variables of this machine."""
    try:
        repository = git.Repo(mirror)
    except GitError as error:
        raise GitFailed(f"the mirror {mirror.name} is gone from the cache folder") from error
    repository.git.update_environment(**local_environment(mirror))
    return repository


def local_environment(mirror: Path) -> dict[str, str]:
    """Return the variables with which git looks at this mirror, and at nothing else of the machine."""
    return {
        "GIT_DIR": str(mirror),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def _check_limits(wanted: list[tuple[str, Entry]], limits: TreeLimits) -> None:
    if len(wanted) > limits.files:
        raise LimitExceeded(
            f"{len(wanted)} files, at most {limits.files} are read; narrow the path"
        )
    for path, entry in wanted:
        if entry.size > limits.file_bytes:
            raise LimitExceeded(
                f"{path}: {entry.size} bytes, at most {limits.file_bytes} are read; exclude it"
            )
    total = sum(entry.size for _, entry in wanted)
    if total > limits.total_bytes:
        raise LimitExceeded(
            f"{total} bytes, at most {limits.total_bytes} are read; narrow the path"
        )


def _blob(repository: git.Repo, entry: Entry) -> bytes:
    data: bytes = repository.odb.stream(bytes.fromhex(entry.oid)).read()
    return data


def _link_target(repository: git.Repo, path: str, entry: Entry) -> str:
    if entry.size > _MAX_LINK_BYTES:
        raise UnsafePath(f"{path}: a symbolic link of {entry.size} bytes")
    return _blob(repository, entry).decode(errors="replace")


def _records(repository: git.Repo, commit: Commit, limits: TreeLimits) -> list[str]:
    """Read the listing as it comes: nine trees that repeat one another list a billion files."""
    process = repository.git.ls_tree("-r", "-l", "-z", "--full-tree", commit, as_process=True)
    watchdog = threading.Timer(_READ_TIMEOUT_SECONDS, process.proc.kill)
    watchdog.start()
    records: list[bytes] = []
    rest, size = b"", 0
    try:
        while chunk := process.stdout.read(_CHUNK):
            *whole, rest = (rest + chunk).split(b"\0")
            records += whole
            size += len(chunk)
            if len(records) > limits.entries or size > _MAX_LISTING_BYTES:
                process.proc.kill()
                raise LimitExceeded(
                    f"more than {limits.entries} entries, or {_MAX_LISTING_BYTES} bytes of paths"
                )
        process.wait()
    finally:
        watchdog.cancel()
    return [record.decode(errors="backslashreplace") for record in records]


def _entries(records: Iterable[str]) -> dict[str, Entry]:
    entries = {}
    for record in records:
        head, _, path = record.partition("\t")
        mode, _, oid, size = head.split()
        if mode in _FILES:  # a submodule's commit (160000) is not followed
            entries[path] = Entry(mode, oid, int(size))
    return entries


def _children_of(entries: Iterable[str]) -> dict[str, set[str]]:
    children: dict[str, set[str]] = {}
    for path in entries:
        while path:
            path, name = posixpath.split(path)  # noqa: PLW2901 - climbs to the root
            siblings = children.setdefault(path, set())
            if name in siblings:
                break
            siblings.add(name)
    return children
