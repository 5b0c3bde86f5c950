"""Our controllers against a real API server, one namespace a test."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from tests.contract.workloads.world import World, running_controllers
from tests.faults.proxy import FaultProxy


@pytest.fixture
def world(api: ApiClient, namespace: str, crds: None) -> World:
    """A namespace without controllers."""
    return World(api, namespace)


@pytest.fixture
async def controlled(world: World) -> AsyncIterator[World]:
    """A namespace with both controllers."""
    async with running_controllers(world.api, world.namespace):
        yield world


@pytest.fixture
async def live(controlled: World) -> AsyncIterator[World]:
    """A namespace with both controllers, where every pod becomes ready soon."""
    kubelet = asyncio.create_task(controlled.run_kubelet())
    yield controlled
    kubelet.cancel()
    await asyncio.gather(kubelet, return_exceptions=True)


@pytest.fixture
async def proxy(kubeconfig: Path, tmp_path: Path) -> AsyncIterator[FaultProxy]:
    """The shared control plane, ready to misbehave."""
    async with FaultProxy.start(kubeconfig, tmp_path) as running:
        yield running
