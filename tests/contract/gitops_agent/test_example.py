"""examples/03-application, as its README tells it."""

import asyncio
import shutil
from pathlib import Path

import pytest
import yaml

from gitops_agent.agent import Agent
from gitops_agent.names import APPLICATIONS
from kube_runtime.api import PatchType
from kube_runtime.resource import SECRETS, Json, Resource
from tests.contract.gitops_agent.conftest import Repository, Scene

pytestmark = pytest.mark.contract

EXAMPLE = Path(__file__).parents[3] / "examples" / "03-application"
ROLLOUTS = Resource("levelset.dev", "v1alpha1", "rollouts", "Rollout")


def _read(name: str, namespace: str) -> Json:
    body: Json = yaml.safe_load((EXAMPLE / name).read_text())
    body["metadata"]["namespace"] = namespace
    return body


async def test_the_example_is_synced_and_a_scale_by_hand_is_put_right(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    shutil.copytree(EXAMPLE / "repository", repository.path, dirs_exist_ok=True)
    commit = repository.commit()
    application = _read("application.yaml", scene.namespace)
    application["spec"]["source"]["repoURL"] = repository.url
    application["spec"]["destination"]["namespace"] = scene.namespace
    secret = _read("repository-secret.yaml", scene.namespace)
    secret["stringData"] |= {
        "url": repository.url.rpartition("/")[0],
        "username": "levelset",
        "password": repository.token,
    }
    await scene.api.delete(SECRETS, "repository", namespace=scene.namespace)

    await scene.api.create(SECRETS, secret)
    await scene.api.create(APPLICATIONS, application)
    await scene.until(lambda s: _level(s, commit), name="web")

    patch = {"spec": {"replicas": 5}}
    await scene.api.patch(ROLLOUTS, "web", patch, namespace=scene.namespace, type=PatchType.MERGE)
    async with asyncio.timeout(20):
        while (await _replicas(scene)) != 2:  # noqa: ASYNC110 - asks a server
            await asyncio.sleep(0.05)

    status = await scene.until(lambda s: _level(s, commit), name="web")
    assert {r["kind"] for r in status["resources"]} == {"ConfigMap", "Rollout", "Service"}


async def _replicas(scene: Scene) -> int:
    found = await scene.api.get(ROLLOUTS, "web", namespace=scene.namespace)
    replicas: int = found["spec"]["replicas"]
    return replicas


def _level(status: Json, commit: str) -> bool:
    sync = status.get("sync") or {}
    return sync.get("status") == "Synced" and sync.get("revision") == commit
