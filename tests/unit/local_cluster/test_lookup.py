from pathlib import Path

import pytest

from local_cluster import tools
from local_cluster.errors import MissingTool
from local_cluster.tools import Origin, lookup


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("LEVELSET_BIN_DIR", raising=False)
    return tmp_path


def _program(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho etcd Version: {version}\n")
    path.chmod(0o755)
    return path


PINNED = tools.program("etcd").version.removeprefix("v")


def test_the_folder_that_the_user_names_comes_first(
    places: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = _program(places / "mine" / "etcd", "0.0.1")
    _program(places / "path" / "etcd", PINNED)
    monkeypatch.setenv("LEVELSET_BIN_DIR", str(mine.parent))

    assert tools.look("etcd") == tools.Found(mine, Origin.BIN_DIR)


def test_a_program_on_path_is_taken_if_it_has_the_pinned_version(places: Path) -> None:
    on_path = _program(places / "path" / "etcd", PINNED)
    _program(lookup.cache_path(tools.program("etcd")), PINNED)

    assert tools.look("etcd") == tools.Found(on_path, Origin.PATH)


def test_a_program_on_path_of_another_version_is_passed_over(places: Path) -> None:
    _program(places / "path" / "etcd", "3.4.0")
    cached = _program(lookup.cache_path(tools.program("etcd")), PINNED)

    assert tools.look("etcd") == tools.Found(cached, Origin.CACHE)


def test_a_file_that_cannot_be_run_is_no_program(places: Path) -> None:
    cached = _program(lookup.cache_path(tools.program("etcd")), PINNED)
    cached.chmod(0o644)

    assert tools.look("etcd") is None


def test_a_missing_program_is_one_line_with_the_way_to_get_it(places: Path) -> None:
    with pytest.raises(MissingTool) as failure:
        tools.find("etcd")

    line = failure.value.diagnostics()
    assert "\n" not in line
    assert line.startswith(f"etcd v{PINNED} is neither in LEVELSET_BIN_DIR nor on PATH nor in ")
    assert line.endswith("run `levelset tools install --for tests`")
