"""`levelset logs`, `exec` and `trace` on real kubelets."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import Json
from local_cluster import tools
from tests.contract.levelset_rollout.conftest import Cli
from tests.contract.workloads.world import World, running_controllers
from tests.node_fixtures import USERLAND, NodeCluster
from workloads.names import ROLLOUTS

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("needs_real_nodes")]

CRDS = Path(__file__).parents[2] / "deploy" / "crds"
BIN = Path(sys.executable).parent
SECONDS = 90.0


@pytest.fixture(scope="session")
def client_crds(node_cluster: NodeCluster) -> None:
    """Our CRDs on the cluster of the node tests."""
    node_cluster.kubectl("apply", "--server-side", "-f", CRDS)
    node_cluster.kubectl("wait", "--for=condition=Established", "--timeout=30s", "-f", CRDS)


@pytest.fixture
async def world(
    node_cluster: NodeCluster, node_namespace: str, client_crds: None
) -> AsyncIterator[World]:
    """Both controllers for one namespace of the real nodes."""
    client = await ApiClient.connect(
        kubeconfig=str(node_cluster.kubeconfig), user_agent="levelset-tests"
    )
    async with client, running_controllers(client, node_namespace):
        yield World(client, node_namespace)


@pytest.fixture
def levelset(node_cluster: NodeCluster, node_namespace: str) -> Cli:
    """The console script, with the real kubectl on PATH."""
    return Cli(node_cluster.kubeconfig, node_namespace, (BIN, tools.find("kubectl").parent))


SERVE = "touch /tmp/index.html; exec httpd -f -p 8080 -h /tmp"


def web(version: str, *, command: str = SERVE, path: str = "/") -> Json:
    container = {
        "name": "web",
        "image": USERLAND,
        "command": ["/bin/sh", "-c", f"echo version {version} on $(hostname); {command}"],
        "readinessProbe": {"httpGet": {"path": path, "port": 8080}, "periodSeconds": 1},
    }
    beside = {
        "name": "beside",
        "image": USERLAND,
        "command": ["/bin/sh", "-c", "echo beside; exec sleep 3600"],
    }
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container, beside]},
    }


async def is_complete(world: World, revision: int) -> None:
    await world.eventually(lambda: world.is_complete(revision=revision), seconds=SECONDS)


@pytest.fixture
async def running(world: World) -> World:
    """A Rollout of two pods that are ready."""
    await world.rollout(2, template=web("one"))
    await is_complete(world, 1)
    return world


async def test_logs_of_all_pods_are_merged(running: World, levelset: Cli) -> None:
    pods = {pod["metadata"]["name"] for pod in await running.pods()}

    plain = await levelset("logs", "ro/web")
    all_ = await levelset("logs", "ro/web", "--all-containers", "--tail=1", "--timestamps")
    wrong = await levelset("logs", "ro/web", "-c", "db")

    assert plain.code == 0, plain
    assert {line.split()[-1] for line in plain.out.splitlines()} == pods
    assert all(line.startswith("[pod/web-") and "/web] " in line for line in plain.out.splitlines())
    lines = all_.out.splitlines()
    assert len(lines) == 4
    times = [line.split()[1] for line in lines]
    assert times == sorted(times)
    assert wrong.code == 1
    assert "there are: web, beside" in wrong.err


async def test_following_logs_take_up_the_pods_of_a_rollout(running: World, levelset: Cli) -> None:
    program = str(BIN / "levelset")
    process = await asyncio.create_subprocess_exec(
        program,
        "logs",
        "ro/web",
        "-f",
        "-n",
        running.namespace,
        env=levelset.environment,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(SECONDS):
            first = await process.stdout.readline()
            await running.patch(ROLLOUTS, "web", {"spec": {"template": web("two")}})
            said = [first]
            while sum(b"version two" in line for line in said) < 2:
                said.append(await process.stdout.readline())
    finally:
        process.terminate()
        await process.wait()

    assert b"version one" in first


async def test_exec_runs_in_a_pod_of_the_newest_revision(running: World, levelset: Cli) -> None:
    pods = {pod["metadata"]["name"] for pod in await running.pods()}

    said = await levelset("exec", "ro/web", "-c", "web", "--", "hostname")
    failed = await levelset("exec", "ro/web", "-c", "web", "--", "sh", "-c", "exit 3")

    assert said.code == 0, said
    assert said.out.strip() in pods
    assert failed.code == 3


async def test_a_trace_tells_the_way_of_every_pod(running: World, levelset: Cli) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    path = f"/api/v1/namespaces/{running.namespace}/services"
    await running.api.request("POST", path, body=service)
    await running.patch(ROLLOUTS, "web", {"spec": {"template": web("two")}})
    await is_complete(running, 2)

    async def all_serve() -> Json:
        document = await levelset("trace", "ro/web", "-o", "json")
        traced: Json = json.loads(document.out)
        assert traced["complete"]
        assert all("waitsFor" not in pod for pod in traced["pods"]), traced
        return traced

    await running.eventually(all_serve, seconds=30)
    traced = await all_serve()
    shown = await levelset("trace", "ro/web", "--pods")

    assert len(traced["pods"]) == 2
    for pod in traced["pods"]:
        stages = {stage["name"]: stage for stage in pod["stages"]}
        assert list(stages) == [
            "TemplateChanged",
            "PodSetCreated",
            "PodCreated",
            "Scheduled",
            "SandboxReady",
            "ImagePulled",
            "Started",
            "Ready",
            "InEndpointSlice",
        ]
        assert stages["ImagePulled"]["evidence"] == "the image was on the node already"
        assert pod["node"]
    assert "complete after" in shown.out
    assert traced["slowestPod"] in shown.out


@pytest.mark.parametrize(
    ("template", "stage", "evidence"),
    [
        pytest.param(web("bad", command="exit 4"), "Ready", "exit code 4", id="crash loop"),
        pytest.param(
            web("bad", path="/nowhere"), "Ready", "Readiness probe failed", id="not ready"
        ),
        pytest.param(
            web("bad") | {"spec": {"containers": [{"name": "web", "image": "127.0.0.1:1/no:1"}]}},
            "ImagePulled",
            "ImagePull",
            id="no image",
        ),
    ],
)
async def test_a_trace_says_why_a_pod_is_stuck(
    world: World, levelset: Cli, template: Json, stage: str, evidence: str
) -> None:
    await world.rollout(1, template=template)

    async def is_told() -> None:
        document = await levelset("trace", "ro/web", "-o", "json")
        (pod,) = json.loads(document.out)["pods"]
        told = {each["name"]: each for each in pod["stages"]}
        assert pod["waitsFor"] == stage
        assert evidence in told[stage].get("evidence", ""), told[stage]

    await world.eventually(is_told, seconds=60)
