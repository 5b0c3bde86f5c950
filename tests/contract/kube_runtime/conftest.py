"""A fault proxy in front of the shared control plane, and a client that goes through it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from tests.faults.proxy import FaultProxy


@pytest.fixture
async def proxy(kubeconfig: Path, tmp_path: Path) -> AsyncIterator[FaultProxy]:
    async with FaultProxy.start(kubeconfig, tmp_path) as running:
        yield running


@pytest.fixture
async def proxied(proxy: FaultProxy) -> AsyncIterator[ApiClient]:
    """An administrator's client whose requests the proxy sees, with a timeout of 5 s."""
    client = await ApiClient.connect(
        kubeconfig=str(proxy.kubeconfig), user_agent="levelset-tests", timeout_seconds=5
    )
    async with client:
        yield client
