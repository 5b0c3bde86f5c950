"""From `git push` to the first write of the new commit, and what a look at nothing new costs."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gitops_agent.agent import Agent
from gitops_agent.names import APPLICATIONS
from kube_runtime.api import ApiClient
from kube_runtime.resource import CONFIG_MAPS, Json, Resource, resource_version_of
from local_cluster.services.git_server import GitServer
from tests.bench.results import median, record
from tests.contract.gitops_agent.conftest import (
    WEBHOOK_SECRET,
    Repository,
    Scene,
    config_map,
    git,
    running_agent,
)

pytestmark = pytest.mark.bench

PUSHES = 15
APPLICATION_COUNT = 100
PUSH_FLOOR_SECONDS = 1.0
NO_OP_FLOOR_MS = 20.0
ROLLOUTS = Resource("levelset.dev", "v1alpha1", "rollouts", "Rollout")


@pytest.fixture
async def scene(
    git_server: GitServer, api: ApiClient, namespace: str, crds: None, tmp_path: Path
) -> Scene:
    url = await git_server.create_repository("team/app")
    path = tmp_path / "work"
    path.mkdir()
    git("init", "-q", "-b", "main", cwd=path)
    git("remote", "add", "origin", git_server.url_with_credentials("team/app"), cwd=path)
    scene = Scene(api, namespace, Repository(url, path, git_server.token))
    await scene.credentials()
    return scene


@pytest.fixture
async def agent(kubeconfig: Path, git_server: GitServer, tmp_path: Path) -> AsyncIterator[Agent]:
    async with running_agent(kubeconfig, tmp_path / "agent") as running:
        url = f"http://127.0.0.1:{running.receiver.port}/push"
        git_server.set_webhook(url, secret=WEBHOOK_SECRET)
        yield running


def _overlay(number: int) -> dict[str, object]:
    labels = {"app": "web"}
    container = {"name": "web", "image": f"registry.example/web:{number}"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    rollout = {
        "apiVersion": "levelset.dev/v1alpha1",
        "kind": "Rollout",
        "metadata": {"name": "web"},
        "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": labels, "ports": [{"port": 80}]},
    }
    return {
        "base/kustomization.yaml": {"resources": ["rollout.yaml", "service.yaml"]},
        "base/rollout.yaml": rollout,
        "base/service.yaml": service,
        "staging/kustomization.yaml": {
            "resources": ["../base"],
            "configMapGenerator": [{"name": "web", "literals": [f"number={number}"]}],
        },
    }


async def test_a_push_reaches_the_cluster_within_a_second(agent: Agent, scene: Scene) -> None:
    """Timed from the moment that `git push` has returned to the change seen by a watch."""
    first = await scene.repository.push(_overlay(0))
    await scene.application(source={"path": "staging"})
    await scene.until(lambda s: (s.get("sync") or {}).get("revision") == first)
    after_push, with_push = [], []

    for number in range(1, PUSHES + 1):
        seen = asyncio.create_task(_watch_image(scene, f"registry.example/web:{number}"))
        await asyncio.sleep(0.3)
        began = time.monotonic()
        await scene.repository.push(_overlay(number))
        pushed = time.monotonic()
        at = await asyncio.wait_for(seen, 30)
        after_push.append(max(0.0, at - pushed))
        with_push.append(at - began)
        await scene.until(lambda s: s["operationState"]["phase"] == "Succeeded")

    record(
        "gitops push to apply",
        pushes=PUSHES,
        median_seconds_after_push=median(after_push, 3),
        slowest_seconds_after_push=round(max(after_push), 3),
        median_seconds_with_commit_and_push=median(with_push, 3),
    )
    assert median(after_push, 3) < PUSH_FLOOR_SECONDS


async def _watch_image(scene: Scene, image: str) -> float:
    listed = await scene.api.list(ROLLOUTS, namespace=scene.namespace)
    events = scene.api.watch(
        ROLLOUTS, namespace=scene.namespace, resource_version=listed.resource_version
    )
    async for event in events:
        containers = event.object["spec"]["template"]["spec"]["containers"]
        if containers[0]["image"] == image:
            return time.monotonic()
    raise AssertionError("the watch ended")


async def test_a_look_at_nothing_new_is_cheap_and_writes_nothing(
    agent: Agent, scene: Scene
) -> None:
    files = {f"{n}/a.yaml": config_map(f"a{n}", n=str(n)) for n in range(APPLICATION_COUNT)}
    commit = await scene.repository.push(files)
    began = time.monotonic()
    for number in range(APPLICATION_COUNT):
        await scene.application(f"app-{number}", source={"path": str(number)})
    await _all_synced(scene, commit)
    first_seconds = time.monotonic() - began
    await asyncio.sleep(1)
    before = await scene.api.list(CONFIG_MAPS, namespace=scene.namespace)

    began, cpu = time.monotonic(), time.process_time()
    key = scene.repository.url.partition("://")[2].removesuffix(".git")
    agent.wake_repository(key)
    while agent.controller.queue.depth:  # noqa: ASYNC110 - as the metric is read
        await asyncio.sleep(0.005)
    seconds, cpu_seconds = time.monotonic() - began, time.process_time() - cpu

    after = await scene.api.list(CONFIG_MAPS, namespace=scene.namespace)
    record(
        "gitops no-op",
        applications=APPLICATION_COUNT,
        first_sync_of_all_seconds=round(first_seconds, 2),
        no_op_of_all_seconds=round(seconds, 3),
        cpu_milliseconds_each=round(cpu_seconds / APPLICATION_COUNT * 1000, 2),
    )
    assert _versions(before.items) == _versions(after.items)
    assert cpu_seconds / APPLICATION_COUNT * 1000 < NO_OP_FLOOR_MS


async def _all_synced(scene: Scene, commit: str) -> None:
    async with asyncio.timeout(120):
        while True:
            found = await scene.api.list(APPLICATIONS, namespace=scene.namespace)
            states = [(app.get("status") or {}).get("sync") or {} for app in found.items]
            if all(s.get("status") == "Synced" and s.get("revision") == commit for s in states):
                return
            await asyncio.sleep(0.1)


def _versions(objects: list[Json]) -> dict[str, str]:
    return {obj["metadata"]["name"]: resource_version_of(obj) for obj in objects}
