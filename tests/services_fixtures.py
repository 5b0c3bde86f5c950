"""Real services for the contract tests: git over HTTP and SSH, an image registry, Prometheus, cosign.

Registered as a plugin by tests/conftest.py. Each starts in well under a second, so each test has its own.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from local_cluster.errors import MissingTool
from local_cluster.services.git_server import GitServer
from local_cluster.services.prometheus import Prometheus
from local_cluster.services.registry import Registry
from local_cluster.services.signing import Cosign
from local_cluster.services.ssh_server import SshServer


@pytest_asyncio.fixture
async def git_server(tmp_path: Path) -> AsyncIterator[GitServer]:
    """A git server over HTTP with one user."""
    async with GitServer.start(tmp_path / "git") as server:
        yield server


@pytest_asyncio.fixture
async def ssh_server(tmp_path: Path, git_server: GitServer) -> AsyncIterator[SshServer]:
    """The repositories of `git_server` over SSH."""
    async with SshServer.start(tmp_path / "ssh", repositories=git_server.repositories) as server:
        yield server


@pytest_asyncio.fixture
async def registry(tmp_path: Path) -> AsyncIterator[Registry]:
    """An image registry on loopback that lets everybody push."""
    async with Registry.start(tmp_path / "registry") as running:
        yield running


@pytest_asyncio.fixture
async def prometheus(tmp_path: Path) -> AsyncIterator[Prometheus]:
    """A Prometheus without jobs; `set_jobs` gives it some."""
    async with Prometheus.start(tmp_path / "prometheus") as running:
        yield running


@pytest_asyncio.fixture
async def cosign(tmp_path: Path) -> Cosign:
    """Cosign with a key pair of this test's own."""
    try:
        return await Cosign.create(tmp_path / "cosign")
    except MissingTool as error:
        pytest.skip(error.diagnostics())
