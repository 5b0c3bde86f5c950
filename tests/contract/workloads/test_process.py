"""`python -m workloads` as it runs in a pod: its own rights, one leader, killed and started again."""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kube_runtime.resource import LEASES, PODS
from local_cluster.kubectl import Kubectl
from tests.contract.workloads.census import census
from tests.contract.workloads.world import World
from workloads.names import PODSETS, ROLLOUTS

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
RIGHTS = ROOT / "deploy" / "chart" / "rbac" / "workloads.yaml"
FAST_LEASE = ("--lease-seconds=3", "--renew-seconds=2", "--retry-seconds=0.5")


@asynccontextmanager
async def process(
    kubeconfig: Path, world: World, *flags: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the controllers for the world's namespace; what they said is shown if the test fails."""
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "workloads",
        f"--kubeconfig={kubeconfig}",
        f"--watch-namespace={world.namespace}",
        f"--namespace={world.namespace}",
        "--metrics-host=127.0.0.1",
        "--metrics-port=0",
        "--insecure-metrics",
        *FAST_LEASE,
        *flags,
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    said = asyncio.create_task(started.stderr.read() if started.stderr else asyncio.sleep(0, b""))
    try:
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()
        print((await said).decode())  # noqa: T201 - pytest shows it when the test fails


async def stop(running: asyncio.subprocess.Process) -> int:
    running.send_signal(signal.SIGTERM)
    async with asyncio.timeout(30):
        return await running.wait()


async def test_it_works_under_the_rights_that_the_chart_ships(
    world: World, kubectl: Kubectl, kubeconfig: Path, tmp_path: Path
) -> None:
    kubectl("create", "namespace", "levelset-system", check=False)
    kubectl("apply", "--server-side", "-f", RIGHTS)
    token = kubectl("create", "token", "levelset-workloads", "-n", "levelset-system").stdout.strip()
    own = tmp_path / "own.kubeconfig"
    own.write_text(json.dumps(_with_token(kubectl, kubeconfig, token)))

    async with process(own, world, "--namespace=levelset-system") as running:
        kubelet = asyncio.create_task(world.run_kubelet())
        await world.rollout(2)
        await world.is_complete(revision=1)
        await world.set_image("web:2")
        await world.is_complete(revision=2)
        (pod, *_) = await world.pods()
        await world.patch(PODS, pod["metadata"]["name"], {"metadata": {"labels": {"app": "x"}}})
        await world.has_pods(2, selector="app=web")
        kubelet.cancel()
        assert await world.events("SuccessfulCreate")
        assert await stop(running) == 0


async def test_killed_in_the_middle_it_goes_on_where_it_was(world: World, kubeconfig: Path) -> None:
    async with census(world.api, world.namespace) as counted:
        async with process(kubeconfig, world) as running:
            await world.podset(300)

            async def has_begun() -> None:
                assert len(counted.active) > 20

            await world.eventually(has_begun, seconds=60)
            running.kill()
            await running.wait()
        begun = len(counted.active)
        async with process(kubeconfig, world):
            await world.eventually(lambda: world.has_status(PODSETS, replicas=300), seconds=60)
            await world.stays(lambda: world.has_pods(300))

    assert begun < 300
    assert (counted.most, counted.created) == (300, 300)


async def test_what_happened_while_nobody_looked_is_put_right(
    world: World, kubeconfig: Path
) -> None:
    async with process(kubeconfig, world) as running:
        await world.rollout(3)
        await world.eventually(lambda: world.has_status(ROLLOUTS, replicas=3), seconds=60)
        assert await stop(running) == 0
    for pod in await world.pods():
        await world.delete(PODS, pod["metadata"]["name"])
    await world.scale(ROLLOUTS, "web", 4)

    async with process(kubeconfig, world):
        await world.eventually(lambda: world.has_status(ROLLOUTS, replicas=4), seconds=60)
        await world.has_pods(4)


async def test_of_two_processes_one_leads_and_the_other_takes_over(
    world: World, kubeconfig: Path
) -> None:
    async with process(kubeconfig, world) as first, process(kubeconfig, world) as second:
        async with census(world.api, world.namespace) as counted:
            await world.podset(20)
            await world.eventually(lambda: world.has_status(PODSETS, replicas=20), seconds=60)
            holder = await _holder(world)
            first.kill()
            await first.wait()
            await world.scale(PODSETS, "web", 30)
            await world.eventually(lambda: world.has_status(PODSETS, replicas=30), seconds=60)

        assert counted.most == 30
        assert counted.created == 30
        assert holder
        assert second.returncode is None


async def test_a_broken_kubeconfig_ends_it_with_code_1(world: World, tmp_path: Path) -> None:
    broken = tmp_path / "broken.kubeconfig"
    broken.write_text("{}")

    async with process(broken, world) as running:
        async with asyncio.timeout(30):
            assert await running.wait() == 1


async def _holder(world: World) -> str:
    lease = await world.get(LEASES, "levelset-workloads")
    holder: str = lease["spec"]["holderIdentity"]
    return holder


def _with_token(kubectl: Kubectl, kubeconfig: Path, token: str) -> Any:
    shown = kubectl("config", "view", "--raw", "-o", "json", f"--kubeconfig={kubeconfig}").stdout
    config = json.loads(shown)
    for user in config["users"]:
        user["user"] = {"token": token}
    return config
