import fcntl
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_cluster.tools import build, catalogue, golang, lookup

pytestmark = pytest.mark.contract

PAUSE = catalogue.program("pause")


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go with its own caches kept, and an empty cache of ours."""
    found = golang.find_go()
    if found is None:
        pytest.skip("no Go on PATH or in the cache: every program was built elsewhere")
    ask = [str(found), "env", "GOCACHE"]
    gocache = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=20).stdout
    monkeypatch.setenv("GOCACHE", gocache.strip())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return found


def test_a_program_is_built_into_the_cache_and_its_seconds_are_remembered(go: Path) -> None:
    built = build.build(PAUSE, go)

    assert built == lookup.cache_path(PAUSE) == lookup.find("pause")
    assert build.measured_seconds()["pause"] == build.expected_seconds(PAUSE)


def test_two_builds_at_once_build_once(go: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda _: build.build(PAUSE, go), range(2))

    inode = one.stat().st_ino
    assert one == two
    assert build.build(PAUSE, go).stat().st_ino == inode
    assert sorted(each.name for each in one.parent.iterdir()) == [".pause.lock", "pause"]


def test_a_failed_build_is_one_line_with_the_compiler_s_words_and_leaves_no_program(
    go: Path, tmp_path: Path
) -> None:
    missing = catalogue.Program("pause", "pause", "levelset.dev/tools/nothing")

    with pytest.raises(build.BuildFailed) as failure:
        build.build(missing, go)

    line = failure.value.diagnostics()
    assert "\n" not in line
    assert "pause: `go build` failed:" in line
    assert "levelset.dev/tools/nothing" in line
    assert not lookup.cache_path(missing).exists()


def test_a_build_that_is_stopped_ends_soon_and_leaves_no_program(
    go: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOCACHE", str(tmp_path / "gocache"))  # so that it takes minutes
    etcd, cancel = catalogue.program("etcd"), threading.Event()
    threading.Timer(1.0, cancel.set).start()
    started = time.monotonic()

    with pytest.raises(build.BuildFailed, match=r"etcd: `go build` was stopped"):
        build.build(etcd, go, cancel)

    assert time.monotonic() - started < 15
    assert not lookup.cache_path(etcd).exists()
    assert not list((tmp_path / "levelset" / "bin").rglob("*.new"))


def test_waiting_for_another_process_s_build_can_be_stopped(go: Path) -> None:
    lock = lookup.cache_path(PAUSE).with_name(".pause.lock")
    lock.parent.mkdir(parents=True)
    cancel = threading.Event()
    cancel.set()

    with lock.open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(build.BuildFailed, match="another process builds the same"):
            build.build(PAUSE, go, cancel)


def test_go_that_is_too_old_is_no_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "bin" / "go"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho go1.19.8\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(old.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    assert golang.find_go() is None


@pytest.mark.skipif(os.geteuid() != 0, reason="the guard is about root")
@pytest.mark.parametrize(("environment", "code"), [({"CI": "1"}, 1), ({}, 0)])
def test_a_skipped_node_test_fails_a_run_in_ci_and_only_there(
    tmp_path: Path, environment: dict[str, str], code: int
) -> None:
    (tmp_path / "test_skipped.py").write_text(
        "import pytest\n@pytest.mark.node\ndef test_it(): pytest.skip('no containerd')\n"
    )
    kept = {name: value for name, value in os.environ.items() if name not in _CI_VARIABLES}
    root = Path(__file__).parents[3]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "tests.node_guard", str(tmp_path)],
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": str(root), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == code
    assert ("test_skipped.py::test_it: Skipped: no containerd" in done.stdout) == (code == 1)


_CI_VARIABLES = {"CI", "LEVELSET_REQUIRE_NODE", "PYTEST_ADDOPTS"}
