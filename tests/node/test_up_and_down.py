import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_cluster.embedded import EmbeddedProvider
from local_cluster.embedded.place import Place
from local_cluster.embedded.sweep import Traces
from local_cluster.errors import ClusterError
from local_cluster.kubectl import Kubectl
from local_cluster.provider import ClusterPlan
from tests.node_fixtures import USERLAND
from tests.node_machine import Machine, processes_of

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("needs_real_nodes")]

# Makes a cluster and ends itself the hard way when so many lines have been reported.
_CRASHING_UP = """\
import os, pathlib, signal, sys
from local_cluster.embedded import EmbeddedProvider
from local_cluster.provider import ClusterPlan
lines_left = int(sys.argv[2])
def report(line):
    global lines_left
    lines_left -= 1
    print(line, flush=True)
    if lines_left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
EmbeddedProvider(pathlib.Path(sys.argv[1])).up(ClusterPlan(name="crash", nodes=1), report)
"""
_STEPS = 7  # network, namespaces, control plane, containerd, kubelet, CoreDNS, Ready


@pytest.fixture
def clusters() -> Iterator[Path]:
    """A folder of this test's own for clusters; short, since sockets lie in it."""
    folder = Path(tempfile.mkdtemp(prefix="lvl-"))
    yield folder
    subprocess.run(["rm", "-rf", folder], check=True, timeout=30)


@pytest.fixture
def provider(clusters: Path) -> Iterator[EmbeddedProvider]:
    made = EmbeddedProvider(clusters)
    yield made
    for directory in clusters.iterdir():
        if directory.is_dir():
            made.down(directory.name, lambda _: None)


def test_down_leaves_the_machine_as_it_was(
    provider: EmbeddedProvider, clusters: Path, userland_archive: Path
) -> None:
    before = Machine.look()
    cluster = provider.up(ClusterPlan(name="clean", nodes=2), lambda _: None)
    provider.load_image("clean", userland_archive, lambda _: None)
    _run_a_pod(Kubectl(cluster.kubeconfig))
    while_up = Machine.look()

    provider.down("clean", lambda _: None)

    _assert_nothing_is_left(clusters, "clean")
    assert Machine.look() == before
    # The host's own firewall, mounts and namespaces are not touched even while it is up.
    assert (while_up.firewall, while_up.mounts) == (before.firewall, before.mounts)
    assert (while_up.namespaces, while_up.run) == (before.namespaces, before.run)


@pytest.mark.parametrize("step", range(_STEPS))
def test_down_is_clean_after_a_crash_at_any_step(clusters: Path, step: int) -> None:
    before = Machine.look()
    crashed = _up_in_another_process(clusters, lines=step)
    assert crashed.wait(timeout=120) == -signal.SIGKILL

    EmbeddedProvider(clusters).down("crash", lambda _: None)

    _assert_nothing_is_left(clusters, "crash")
    assert Machine.look() == before


@pytest.mark.parametrize("seconds", [0.6, 0.8, 1.2, 2.0, 3.5])
def test_down_is_clean_after_a_crash_at_any_time(clusters: Path, seconds: float) -> None:
    before = Machine.look()
    running = _up_in_another_process(clusters, lines=1000)
    timer = threading.Timer(seconds, running.kill)
    timer.start()
    running.wait(timeout=120)
    timer.cancel()

    EmbeddedProvider(clusters).down("crash", lambda _: None)

    _assert_nothing_is_left(clusters, "crash")
    assert Machine.look() == before


def test_up_repairs_a_half_made_cluster(provider: EmbeddedProvider, clusters: Path) -> None:
    _up_in_another_process(clusters, lines=4).wait(timeout=120)
    half_made = provider.status("crash")
    said: list[str] = []

    provider.up(ClusterPlan(name="crash", nodes=1), said.append)

    assert half_made.state == "half-made"
    assert said[0] == "removing what is left of an earlier cluster crash"
    assert provider.status("crash").state == "up"


def test_up_repairs_a_cluster_whose_program_has_died(provider: EmbeddedProvider) -> None:
    provider.up(ClusterPlan(name="hurt", nodes=1), lambda _: None)
    programs = Place.of("hurt", provider.clusters).programs()
    os.kill(programs["kube-scheduler"].pid, signal.SIGKILL)
    status = provider.status("hurt")

    provider.up(ClusterPlan(name="hurt", nodes=1), lambda _: None)

    assert (status.state, status.details[0]) == ("half-made", "kube-scheduler does not run")
    assert provider.status("hurt").state == "up"


def test_down_without_the_folder_still_finds_everything(
    provider: EmbeddedProvider, clusters: Path
) -> None:
    provider.up(ClusterPlan(name="lost", nodes=1), lambda _: None)
    (clusters / "lost").rename(clusters / "elsewhere")
    try:
        provider.down("lost", lambda _: None)

        _assert_nothing_is_left(clusters, "lost")
    finally:
        subprocess.run(["rm", "-rf", clusters / "elsewhere"], check=True, timeout=30)


def test_two_clusters_are_up_at_once_and_do_not_meet(
    provider: EmbeddedProvider, userland_archive: Path
) -> None:
    plans = [ClusterPlan(name=name, nodes=1, simulated_nodes=1) for name in ("one", "two")]
    with ThreadPoolExecutor(2) as pool:
        one, two = pool.map(lambda plan: provider.up(plan, lambda _: None), plans)
    provider.load_image("one", userland_archive, lambda _: None)
    kubectl_one, kubectl_two = Kubectl(one.kubeconfig), Kubectl(two.kubeconfig)
    _run_a_pod(kubectl_one)

    assert one.host_address != two.host_address
    assert "first" in kubectl_one("get", "pods", "-o", "name").stdout
    assert kubectl_two("get", "pods", "-o", "name").stdout == ""
    provider.down("one", lambda _: None)
    assert provider.status("two").state == "up"
    assert kubectl_two("get", "nodes", "--no-headers").stdout.count(" Ready ") == 2


def test_a_second_command_on_the_same_cluster_is_told_to_wait(
    provider: EmbeddedProvider, clusters: Path
) -> None:
    with Place.of("held", clusters).locked(), pytest.raises(ClusterError, match="wait for it"):
        provider.down("held", lambda _: None)


def test_down_of_a_cluster_that_is_not_there_says_so(provider: EmbeddedProvider) -> None:
    said: list[str] = []

    provider.down("nobody", said.append)

    assert said == ["there is no cluster nobody"]


def test_a_state_folder_that_every_node_hides_is_refused() -> None:
    provider = EmbeddedProvider(Path(f"/run/levelset-test-{os.getpid()}"))
    try:
        with pytest.raises(ClusterError, match=r"below /run, .* set XDG_STATE_HOME"):
            provider.up(ClusterPlan(name="hidden", nodes=1), lambda _: None)
    finally:
        provider.down("hidden", lambda _: None)
        subprocess.run(["rm", "-rf", str(provider.clusters)], check=True, timeout=30)


def _up_in_another_process(clusters: Path, *, lines: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", _CRASHING_UP, str(clusters), str(lines)], stdout=subprocess.DEVNULL
    )


def _run_a_pod(kubectl: Kubectl) -> None:
    node = kubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}").stdout
    options = [f"--image={USERLAND}", f'--overrides={{"spec": {{"nodeName": "{node}"}}}}']
    kubectl("run", "first", *options, "--command", "--", "/bin/sleep", "1000")
    kubectl("wait", "pod/first", "--for=condition=Ready", "--timeout=25s")


def _assert_nothing_is_left(clusters: Path, name: str) -> None:
    place = Place.of(name, clusters)
    assert not Traces.look(place)
    assert processes_of(place.directory) == []
    assert list(Path("/sys/fs/cgroup").rglob(place.cgroup)) == []


def test_a_state_folder_that_is_too_deep_is_said_before_anything_is_made(clusters: Path) -> None:
    machine = Machine.look()
    provider = EmbeddedProvider(clusters / ("deep" * 20))

    with pytest.raises(ClusterError, match=r"at most 104 bytes.*XDG_STATE_HOME to a shorter"):
        provider.up(ClusterPlan(name="deep", nodes=1), lambda _: None)

    assert Machine.look() == machine
    assert provider.status("deep").state == "absent"
