import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from levelset.__main__ import main
from local_cluster.embedded import EmbeddedProvider
from local_cluster.errors import ClusterError, MissingTool
from local_cluster.kubectl import Kubectl
from local_cluster.provider import BadPlan, ClusterPlan

pytestmark = pytest.mark.contract


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[EmbeddedProvider]:
    made = EmbeddedProvider(tmp_path / "clusters")
    yield made
    made.down("small", lambda _: None)


def test_without_root_nodes_are_simulated_and_that_is_said(
    provider: EmbeddedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    said: list[str] = []

    cluster = provider.up(ClusterPlan(name="small", nodes=2), said.append)

    assert said[0] == "real nodes need root: going on with simulated nodes, whose pods do not run"
    assert [node.is_ready for node in cluster.nodes] == [True, True]
    assert cluster.server.startswith("https://127.0.0.1:")
    Kubectl(cluster.kubeconfig)("create", "deployment", "web", "--image=x.test/web:1")
    wait = ["rollout", "status", "deployment/web", "--timeout=20s"]
    Kubectl(cluster.kubeconfig)(*wait)


def test_a_version_that_is_not_pinned_is_refused_before_anything_is_made(
    provider: EmbeddedProvider, tmp_path: Path
) -> None:
    with pytest.raises(BadPlan, match=r"Kubernetes 1\.2\.3 is not pinned here; there is v1\."):
        provider.up(ClusterPlan(name="small", kubernetes_version="1.2.3"), lambda _: None)

    assert not (tmp_path / "clusters").exists()


def test_a_missing_program_is_named_before_anything_is_made(
    provider: EmbeddedProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    monkeypatch.setenv("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")

    with pytest.raises(MissingTool, match=r"etcd v.* run `levelset tools install"):
        provider.up(ClusterPlan(name="small", nodes=0), lambda _: None)

    assert provider.status("small").state == "absent"


def test_no_space_is_said_before_anything_is_made(
    provider: EmbeddedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: _Full())

    with pytest.raises(ClusterError, match=r"expected 2 GiB free, found 0\.5 GiB"):
        provider.up(ClusterPlan(name="small", nodes=0), lambda _: None)

    assert provider.status("small").state == "absent"


class _Full:
    free = 2**29


def test_the_command_line_says_what_is_wrong_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    code = main(["cluster", "kubeconfig", "--name", "nobody"])

    error = "levelset: cluster nobody is not up: `levelset cluster up --name nobody`\n"
    assert (code, capsys.readouterr().err) == (1, error)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["cluster", "up", "--provider", "kind"], 1, "provider kind is not there yet"),
        (["cluster", "up", "--nodes", "many"], 2, "--nodes: expected 0 or more, found 'many'"),
        (["cluster", "up", "--nodes=-1"], 2, "--nodes: expected 0 or more, found '-1'"),
        (["cluster", "up", "--nodes", "99"], 1, "nodes: expected at most 50, found 99"),
        (["cluster", "up", "--name", "No"], 1, "cluster name 'No': expected up to 40 of a-z"),
        (["cluster", "load-image", "x.tar", "--name", "nobody"], 1, "cluster nobody is not up"),
        (["cluster"], 2, "required: VERB"),
    ],
)
def test_bad_input_is_named(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    try:
        result = main(arguments)
    except SystemExit as end:
        result = int(end.code or 0)

    assert result == code
    assert message in capsys.readouterr().err


def test_an_existing_cluster_is_used_and_left_alone(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    existing = ["--kubeconfig", str(kubeconfig), "cluster"]

    assert main([*existing, "status", "--provider", "existing"]) == 0
    assert main([*existing, "down", "--provider", "existing"]) == 0
    assert main([*existing, "status", "--provider", "existing"]) == 0
    assert "is not ours to take down" in capsys.readouterr().err
