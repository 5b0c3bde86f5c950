"""Commits that a real git made, and that mean no good."""

import subprocess
from pathlib import Path

import pytest

from gitops_agent.errors import LimitExceeded, RevisionNotFound, UnsafePath
from gitops_agent.source.refs import Commit
from gitops_agent.source.tree import TreeLimits, read_tree
from tests.contract.gitops_agent.conftest import git

pytestmark = pytest.mark.contract


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git("init", "--quiet", "--bare", str(tmp_path / "r.git"), cwd=tmp_path)
    return tmp_path / "r.git"


def _write(repository: Path, *command: str, lines: bytes) -> str:
    done = subprocess.run(
        ["git", *command], input=lines, cwd=repository, check=True, stdout=subprocess.PIPE
    )
    return done.stdout.decode().strip()


def _commit(repository: Path, tree: str) -> Commit:
    who = ("-c", "user.name=t", "-c", "user.email=t@example.test")
    return Commit(git(*who, "commit-tree", tree, "-m", "x", cwd=repository).strip())


def test_a_tree_that_repeats_itself_a_billion_times_is_cut_off(repository: Path) -> None:
    blob = _write(repository, "hash-object", "-w", "--stdin", lines=b"x")
    kind, below = "100644 blob", blob
    for _ in range(9):
        lines = "".join(f"{kind} {below}\td{number}\n" for number in range(10))
        kind, below = "040000 tree", _write(repository, "mktree", lines=lines.encode())

    with pytest.raises(LimitExceeded, match="more than 1000 entries"):
        read_tree(repository, _commit(repository, below), TreeLimits(entries=1000))


def test_a_name_that_is_no_utf8_is_refused_where_it_is_read_and_nowhere_else(
    repository: Path,
) -> None:
    blob = _write(repository, "hash-object", "-w", "--stdin", lines=b"x").encode()
    lines = b"100644 blob %s\tcaf\xe9.yaml\n" % blob
    inner = _write(repository, "mktree", lines=lines).encode()
    good = _write(repository, "mktree", lines=b"100644 blob %s\ta.yaml\n" % blob).encode()
    both = b"040000 tree %s\tgood\n040000 tree %s\todd\n" % (good, inner)
    commit = _commit(repository, _write(repository, "mktree", lines=both))

    tree = read_tree(repository, commit, TreeLimits())

    assert [path for path, _ in tree.files_below("good")] == ["good/a.yaml"]
    with pytest.raises(UnsafePath, match="UTF-8"):
        list(tree.files_below("odd"))


def test_a_commit_that_is_not_there_is_said_so(repository: Path) -> None:
    with pytest.raises(RevisionNotFound):
        read_tree(repository, Commit("0" * 40), TreeLimits())
