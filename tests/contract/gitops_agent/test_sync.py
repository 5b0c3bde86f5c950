"""From a push to a level namespace, with real git, real kustomize and a real API server."""

import time

import pytest

from gitops_agent.agent import Agent
from kube_runtime.errors import NotFound
from kube_runtime.resource import CONFIG_MAPS
from tests.contract.gitops_agent.conftest import Repository, Scene, condition, config_map

pytestmark = pytest.mark.contract


async def test_a_push_is_applied_within_seconds(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    first = await repository.push({"a.yaml": config_map("settings", colour="red")})
    await scene.application()
    await scene.until_synced(first)

    began = time.monotonic()
    second = await repository.push({"a.yaml": config_map("settings", colour="blue")})
    status = await scene.until_synced(second)

    assert time.monotonic() - began < 5
    found = await scene.api.get(CONFIG_MAPS, "settings", namespace=scene.namespace)
    assert found["data"] == {"colour": "blue"}
    assert condition(status, "Ready")["status"] == "True"
    assert status["health"]["status"] == "Healthy"
