import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from local_cluster import kubectl as kubectl_module
from local_cluster import ports
from local_cluster.control_plane import ControlPlane
from local_cluster.errors import ProgramFailed
from local_cluster.kubectl import Kubectl

pytestmark = pytest.mark.contract


def test_kubectl_speaks_to_it(kubectl: Kubectl) -> None:
    assert "Server Version: v1." in kubectl("version").stdout


def test_an_error_of_kubectl_is_its_own_words(kubectl: Kubectl) -> None:
    with pytest.raises(kubectl_module.KubectlFailed, match=r"kubectl get pods nobody: .*NotFound"):
        kubectl("get", "pods", "nobody")


def test_simulated_nodes_become_ready_and_run_pods(
    busy_control_plane: ControlPlane, kwok_nodes: Callable[[int], list[str]]
) -> None:
    names = kwok_nodes(2)
    kubectl = Kubectl(busy_control_plane.kubeconfig)
    kubectl("create", "deployment", "web", "--image=x.test/web:1", "--replicas=4")

    kubectl("rollout", "status", "deploy/web", "--timeout=40s", timeout_seconds=45)

    placed = kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}")
    assert set(placed.stdout.split()) <= set(names)


def test_stop_ends_every_program_that_start_started(tmp_path: Path) -> None:
    started: list[int] = []
    plane = ControlPlane.start(tmp_path, on_start=lambda each: started.append(each.identity.pid))
    plane.start_scheduler()

    plane.stop()

    assert len(started) == 3
    assert [pid for pid in started if Path(f"/proc/{pid}/exe").exists()] == []


def test_two_control_planes_live_side_by_side(control_plane: ControlPlane, tmp_path: Path) -> None:
    other = ControlPlane.start(tmp_path)
    try:
        assert other.server != control_plane.server
        assert kubectl_module.Kubectl(other.kubeconfig)("get", "ns").returncode == 0
    finally:
        other.stop()


def test_a_program_that_ends_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(
        ProgramFailed, match=r"kube-apiserver ended before .*unknown flag: --no-such"
    ):
        ControlPlane.start(tmp_path, api_flags=["--no-such"])


def test_a_port_that_is_taken_is_not_an_end(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = int(control_plane.server.rpartition(":")[2])
    real, calls = ports.free_ports, iter([taken])

    def first_taken(count: int) -> list[int]:
        return [next(calls, real(1)[0]) if count == 1 else port for port in real(count)]

    monkeypatch.setattr(ports, "free_ports", first_taken)
    plane = ControlPlane.start(tmp_path)

    plane.stop()
    assert plane.server != control_plane.server


def test_nothing_of_it_outlives_a_killed_parent(tmp_path: Path) -> None:
    script = (
        "import pathlib, sys, time; from local_cluster.control_plane import ControlPlane;"
        f"p = ControlPlane.start(pathlib.Path({str(tmp_path)!r}),"
        " on_start=lambda each: print(each.identity.pid, flush=True)); print('up', flush=True);"
        "time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pids = [int(line) for line in iter(parent.stdout.readline, "up\n")]
        parent.send_signal(signal.SIGKILL)
        parent.wait(timeout=10)

    for pid in pids:
        subprocess.run(["tail", f"--pid={pid}", "-f", "/dev/null"], timeout=10, check=True)
