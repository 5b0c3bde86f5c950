"""A real agent beside the shared API server, a repository to push to, and the words of a scenario."""

import asyncio
import contextlib
import os
import secrets
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporters.instrument import Instruments
from exporters.settings import MetricsSettings
from gitops_agent.agent import Agent
from gitops_agent.names import APPLICATIONS
from gitops_agent.settings import AgentSettings
from kube_runtime.api import ApiClient, PatchType
from kube_runtime.errors import AlreadyExists, NotFound
from kube_runtime.resource import NAMESPACES, SECRETS, Json
from local_cluster import tools
from local_cluster.services.git_server import GitServer

WEBHOOK_SECRET = "a-shared-secret-for-pushes"


def git(*arguments: str, cwd: Path) -> str:
    """Run git as a person with a clean home would."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(cwd),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_AUTHOR_EMAIL": "test@example.com",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@example.com",
    }
    done = subprocess.run(
        ["git", *arguments], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"git {arguments[0]}: {done.stderr}"
    return done.stdout.strip()


@dataclass(frozen=True)
class Repository:
    """A working copy whose pushes go to the real server."""

    url: str
    path: Path
    token: str = field(repr=False)

    async def push(self, files: Mapping[str, object], *, branch: str = "main") -> str:
        """Make the files the whole content of the branch; values are text or objects."""
        return await asyncio.to_thread(self._push, files, branch)

    def _push(self, files: Mapping[str, object], branch: str) -> str:
        git("rm", "-rqf", "--ignore-unmatch", ".", cwd=self.path)
        for name, content in files.items():
            file = self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return self.commit(branch)

    def commit(self, branch: str = "main") -> str:
        git("add", "-A", cwd=self.path)
        git("commit", "-q", "--allow-empty", "-m", "change", cwd=self.path)
        git("push", "-q", "--force", "origin", f"HEAD:refs/heads/{branch}", cwd=self.path)
        return git("rev-parse", "HEAD", cwd=self.path)

    def git(self, *arguments: str) -> str:
        return git(*arguments, cwd=self.path)


@pytest.fixture
async def repository(git_server: GitServer, tmp_path: Path) -> Repository:
    """An empty repository on the real server."""
    name = f"team/{secrets.token_hex(4)}"
    url = await git_server.create_repository(name)
    path = tmp_path / "work"
    path.mkdir()
    git("init", "-q", "-b", "main", cwd=path)
    git("remote", "add", "origin", git_server.url_with_credentials(name), cwd=path)
    return Repository(url, path, git_server.token)


def _write_secret(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "push-secret"
    file.write_text(WEBHOOK_SECRET + "\n")
    return file


@asynccontextmanager
async def running_agent(kubeconfig: Path, folder: Path, **changes: Any) -> AsyncIterator[Agent]:
    """Run an agent in this process; the shell around it has tests of its own."""
    secret_file = _write_secret(folder)
    options: dict[str, Any] = {
        "metrics": MetricsSettings(insecure_metrics=True),
        "cache_dir": folder / "cache",
        "kustomize": str(tools.find("kustomize")),
        "webhook_host": "127.0.0.1",
        "webhook_port": 0,
        "webhook_secret_file": secret_file,
        "poll_seconds": 3600.0,
    }
    settings = AgentSettings(**(options | changes))
    instruments = Instruments("gitops_agent")
    client = await ApiClient.connect(
        kubeconfig=str(kubeconfig),
        user_agent="levelset-gitops-test",
        qps=1000,
        burst=2000,
        instrumentation=instruments.runtime,
    )
    async with client as api:
        agent = Agent(settings, api, instruments)
        tasks = [
            asyncio.create_task(agent.applications.run()),
            asyncio.create_task(agent.live.run()),
            asyncio.create_task(agent.events.run()),
            asyncio.create_task(agent.receiver.run()),
            asyncio.create_task(agent.controller.run()),
        ]
        try:
            await agent.receiver.wait_started()
            yield agent
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@pytest.fixture
async def agent(
    kubeconfig: Path, crds: None, tmp_path: Path, git_server: GitServer
) -> AsyncIterator[Agent]:
    """A running agent that the git server tells of each push."""
    async with running_agent(kubeconfig, tmp_path / "agent") as running:
        git_server.set_webhook(
            f"http://127.0.0.1:{running.receiver.port}/push", secret=WEBHOOK_SECRET
        )
        yield running


@dataclass(frozen=True)
class Scene:
    """The words in which the tests are told."""

    api: ApiClient
    namespace: str
    repository: Repository

    async def credentials(self, **values: str) -> None:
        """Put the repository's credentials into the namespace."""
        data = {"url": self.repository.url, "username": "levelset"} | values
        data.setdefault("password", self.repository.token)
        body: Json = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "repository",
                "namespace": self.namespace,
                "labels": {"levelset.dev/secret-type": "repository"},
            },
            "stringData": data,
        }
        try:
            await self.api.create(SECRETS, body)
        except AlreadyExists:
            await self.api.patch(
                SECRETS, "repository", body, namespace=self.namespace, type=PatchType.MERGE
            )

    async def application(self, name: str = "app", **changes: Any) -> Json:
        """Create an Application; `source`, `automated` and others change the usual one."""
        automated = {"prune": True, "selfHeal": True} | changes.pop("automated", {})
        policy = {"automated": automated, "retry": {"backoff": {"duration": "1s"}}}
        policy |= changes.pop("policy", {})
        source = {"repoURL": self.repository.url, "path": ".", "targetRevision": "main"}
        source |= changes.pop("source", {})
        spec = {
            "source": source,
            "destination": {"namespace": changes.pop("destination", self.namespace)},
            "syncPolicy": {key: value for key, value in policy.items() if value is not None},
        }
        assert not changes
        body = {
            "apiVersion": APPLICATIONS.api_version,
            "kind": APPLICATIONS.kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        }
        return await self.api.create(APPLICATIONS, body)

    async def get(self, name: str = "app") -> Json:
        return await self.api.get(APPLICATIONS, name, namespace=self.namespace)

    async def until(
        self, holds: Callable[[Json], object], *, name: str = "app", seconds: float = 20.0
    ) -> Json:
        """Wait for an Application to be so; prints it when it never is."""
        found: Json = {}
        try:
            async with asyncio.timeout(seconds):
                while True:
                    found = (await self.get(name)).get("status") or {}
                    if holds(found):
                        return found
                    await asyncio.sleep(0.05)
        except TimeoutError:
            pytest.fail(f"the status never became as expected:\n{yaml.safe_dump(found)}")

    async def until_synced(self, commit: str, *, name: str = "app") -> Json:
        return await self.until(lambda status: is_synced(status, commit), name=name)

    async def sync_annotation(self, value: str, name: str = "app") -> None:
        await self.api.patch(
            APPLICATIONS,
            name,
            {"metadata": {"annotations": {"levelset.dev/sync": value}}},
            namespace=self.namespace,
            type=PatchType.MERGE,
        )


def is_synced(status: Json, commit: str) -> bool:
    sync = status.get("sync") or {}
    operation = status.get("operationState") or {}
    is_done = operation.get("phase") in (None, "Succeeded")
    return sync.get("status") == "Synced" and sync.get("revision") == commit and is_done


def condition(status: Json, kind: str) -> Json:
    return next((c for c in status.get("conditions") or () if c["type"] == kind), {})


@pytest.fixture
async def scene(api: ApiClient, namespace: str, repository: Repository, crds: None) -> Scene:
    scene = Scene(api, namespace, repository)
    await scene.credentials()
    return scene


@pytest.fixture
async def other_namespace(api: ApiClient) -> AsyncIterator[str]:
    """A name for a namespace that does not exist yet; deleted afterwards."""
    name = f"test-{secrets.token_hex(4)}"
    yield name
    with contextlib.suppress(NotFound):
        await api.delete(NAMESPACES, name)


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
