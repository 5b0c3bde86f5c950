"""What every process says when it cannot start: one line, the right exit code, a trace on request."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
PARTS = ("workloads", "gitops_agent", "supply_chain", "exporters")


def run(part: str, *flags: str) -> tuple[int, list[str]]:
    """Run the process until it gives up; the exit code and what it said of errors."""
    environment = {k: v for k, v in os.environ.items() if k not in {"KUBECONFIG", "HOME"}}
    done = subprocess.run(
        [sys.executable, "-m", part, "--insecure-metrics", "--metrics-port=0", *flags],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT / "operator")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, [line for line in done.stderr.splitlines() if " INFO " not in line]


@pytest.fixture
def nobodys_kubeconfig(tmp_path: Path) -> Path:
    """A kubeconfig whose server does not run."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    file = tmp_path / "config"
    file.write_text(
        f"{{clusters: [{{name: c, cluster: {{server: 'https://127.0.0.1:{port}'}}}}], users: [],"
        " contexts: [{name: c, context: {cluster: c}}], current-context: c}"
    )
    return file


@pytest.mark.parametrize("part", PARTS)
def test_an_unknown_flag_is_wrong_usage(part: str) -> None:
    code, said = run(part, "--no-such-flag")

    assert code == 2
    assert len(said) == 1
    assert said[0].startswith(f"python -m {part}: unrecognized arguments: --no-such-flag")


@pytest.mark.parametrize("part", PARTS)
def test_a_kubeconfig_that_is_not_there_is_one_line(part: str, tmp_path: Path) -> None:
    code, said = run(part, f"--kubeconfig={tmp_path}/absent")

    assert code == 1
    assert len(said) == 1
    assert f"kubeconfig {tmp_path}/absent: expected a file, found none; pass" in said[0]


@pytest.mark.parametrize("part", PARTS)
def test_a_cluster_that_does_not_answer_is_one_line(part: str, nobodys_kubeconfig: Path) -> None:
    code, said = run(part, f"--kubeconfig={nobodys_kubeconfig}")

    assert code == 1
    assert len(said) == 1
    assert "expected a connection, found" in said[0]
    assert f"check that the API server runs and that the address in {nobodys_kubeconfig}" in said[0]


@pytest.mark.parametrize("part", PARTS)
def test_debug_shows_the_trace_above_the_line(part: str, tmp_path: Path) -> None:
    code, said = run(part, "--debug", f"--kubeconfig={tmp_path}/absent")

    assert code == 1
    assert "Traceback (most recent call last):" in said
    assert "expected a file, found none" in said[-1]


@pytest.fixture
def taken_port() -> Iterator[int]:
    """A port of loopback that somebody else listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


@pytest.mark.parametrize("part", PARTS)
def test_a_metrics_port_that_is_taken_is_one_line(
    part: str, taken_port: int, kubeconfig: Path, crds: None
) -> None:
    address = ("--metrics-host=127.0.0.1", f"--metrics-port={taken_port}")

    code, said = run(part, f"--kubeconfig={kubeconfig}", *address)

    assert code == 1
    assert len(said) == 1
    assert f"metrics address 127.0.0.1:{taken_port}: expected to listen on it, found: " in said[0]
    assert "--metrics-port" in said[0]


@pytest.mark.parametrize(
    ("part", "name"), [("gitops_agent", "webhook"), ("supply_chain", "admission")]
)
def test_another_port_that_is_taken_is_one_line_too(
    part: str, name: str, taken_port: int, kubeconfig: Path, crds: None, namespace: str
) -> None:
    address = (f"--{name}-host=127.0.0.1", f"--{name}-port={taken_port}")

    code, said = run(part, f"--kubeconfig={kubeconfig}", f"--namespace={namespace}", *address)

    assert code == 1
    assert len(said) == 1
    assert f"127.0.0.1:{taken_port}" in said[0]
    assert f"--{name}-port" in said[0]
