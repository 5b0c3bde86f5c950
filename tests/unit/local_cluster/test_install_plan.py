from pathlib import Path

import pytest

from local_cluster import tools
from local_cluster.tools import build, install


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "levelset" / "bin").mkdir(parents=True)


def _programs(*names: str) -> list[tools.Program]:
    return [tools.program(name) for name in names]


def test_programs_of_kubernetes_are_built_one_after_the_other_heavy_ones_first() -> None:
    wanted = _programs("kubectl", "etcd", "kube-apiserver", "cosign", "kubelet")

    kubernetes, others = install.lanes(wanted)

    assert kubernetes == _programs("kube-apiserver", "kubelet", "kubectl")
    assert others == _programs("cosign", "etcd")


def test_nothing_to_build_needs_no_lane() -> None:
    assert install.lanes([]) == ()


def test_the_estimate_is_what_builds_took_on_this_machine() -> None:
    build.remember_seconds("etcd", 12.34)
    build.remember_seconds("kwok", 5)
    missing = install.Missing(tuple(_programs("etcd", "kwok")), ())

    assert missing.expected_seconds() == pytest.approx(17.3)


def test_a_broken_memory_of_seconds_costs_only_the_estimate(tmp_path: Path) -> None:
    (tmp_path / "levelset" / "bin" / "seconds.json").write_text("[1,")

    assert build.measured_seconds() == {}
    assert build.expected_seconds(tools.program("etcd")) == tools.program("etcd").seconds


def test_a_running_build_counts_at_most_as_expected() -> None:
    progress = install.Progress(total=100)
    progress.running["etcd"] = 0.0

    assert progress.completed(now=30.0) == 30.0
    assert progress.completed(now=10_000.0) < tools.program("etcd").seconds


def test_a_finished_build_counts_as_expected() -> None:
    progress = install.Progress(total=100)
    progress.begin("etcd")

    progress.end("etcd", 60.0)

    assert (progress.completed(now=0.0), progress.finished) == (60.0, ["etcd"])
