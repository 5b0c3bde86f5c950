"""`levelset app`, as a person or a script uses it, and the agent's own process under its own rights."""

import asyncio
import json
import re
import secrets
import signal
import sys
from pathlib import Path
from typing import IO

import pytest
import yaml

from gitops_agent.agent import Agent
from kube_runtime.api import ApiClient
from kube_runtime.errors import NotFound
from kube_runtime.resource import CONFIG_MAPS, NAMESPACES, SERVICE_ACCOUNTS, Json
from local_cluster import tools
from local_cluster.kubectl import Kubectl
from tests.contract.gitops_agent.conftest import Repository, Scene, config_map

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
RBAC = ROOT / "deploy" / "chart" / "rbac" / "gitops-agent.yaml"


class Command:
    """The real command line in a process of its own."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self._kubeconfig = kubeconfig
        self._namespace = namespace

    async def __call__(self, verb: str, *arguments: str) -> tuple[int, str, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "levelset", f"--kubeconfig={self._kubeconfig}", "app", verb, "app"),
            *("-n", self._namespace, *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=ROOT,
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate()
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()


@pytest.fixture
def app(kubeconfig: Path, namespace: str) -> Command:
    return Command(kubeconfig, namespace)


async def test_diff_prints_what_out_of_sync_means_and_sync_makes_it_empty(
    agent: Agent, scene: Scene, repository: Repository, app: Command
) -> None:
    kustomize = f"--kustomize={tools.find('kustomize')}"
    await repository.push({"a.yaml": config_map("a", colour="red")})
    await scene.application(policy={"automated": None})
    await scene.until(lambda s: (s.get("sync") or {}).get("status") == "OutOfSync")

    code, printed, _ = await app("diff", kustomize)
    assert code == 1
    assert "+++ git   ConfigMap" in printed
    assert "+  colour: red" in printed
    assert (await app("diff", "--no-exit-code"))[0] == 0

    code, printed, error = await app("sync", "--wait", "--timeout", "30")
    assert (code, error) == (0, "")
    assert "1 applied" in printed

    assert await app("diff") == (0, "", "")
    code, printed, _ = await app("wait", "--timeout", "20")
    assert (code, printed.split(" is ")[1].strip()) == (0, "Synced and Healthy")


async def test_get_shows_the_objects_as_table_json_and_yaml(
    agent: Agent, scene: Scene, repository: Repository, app: Command
) -> None:
    commit = await repository.push({"a.yaml": config_map("a", colour="red")})
    await scene.application()
    await scene.until_synced(commit)

    _, table, _ = await app("get")
    _, wide, _ = await app("get", "-o", "wide")
    _, as_json, _ = await app("get", "-o", "json")
    _, as_yaml, _ = await app("get", "-o", "yaml")

    assert re.search(r"ConfigMap\s+a\s+\S+\s+Synced\s+Healthy", table)
    assert "CHANGED" in wide
    assert json.loads(as_json)["status"]["sync"]["revision"] == commit
    assert yaml.safe_load(as_yaml)["status"]["sync"]["revision"] == commit


async def test_what_cannot_be_done_is_one_line_and_its_own_exit_code(
    agent: Agent, scene: Scene, repository: Repository, app: Command
) -> None:
    code, _, error = await app("get")
    assert code == 1
    assert error.count("\n") == 1
    assert "Application" in error
    assert (await app("diff"))[0] == 3

    await repository.push({"a.yaml": "a: [1"})
    await scene.application()
    code, _, error = await app("diff")
    assert code == 3
    assert "a.yaml:" in error
    code, _, error = await app("wait", "--timeout", "1")
    assert code == 1
    assert "in vain" in error


async def test_a_sync_that_fails_is_told_with_its_reason(
    agent: Agent, scene: Scene, repository: Repository, app: Command
) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "bad"}}
    await repository.push({"a.yaml": service | {"spec": {"ports": [{"port": 99999}]}}})
    await scene.application(policy={"automated": None})

    code, _, error = await app("sync", "--wait", "--timeout", "30")

    assert code == 1
    assert "spec.ports[0].port" in error


@pytest.fixture
async def account(
    api: ApiClient, kubectl: Kubectl, kubeconfig: Path, crds: None, tmp_path: Path
) -> Path:
    """A kubeconfig of the agent's own ServiceAccount, with the chart's RBAC and nothing more."""
    if kubectl("get", "namespace", "levelset-system", check=False).returncode:
        body: Json = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": "levelset-system"},
        }
        await api.create(NAMESPACES, body)
    kubectl("apply", "--server-side", "-f", RBAC)
    answer = await api.create(
        SERVICE_ACCOUNTS,
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}},
        namespace="levelset-system",
        name="levelset-gitops-agent",
        subresource="token",
    )
    return _kubeconfig_of(answer["status"]["token"], kubeconfig, tmp_path / "agent.kubeconfig")


def _kubeconfig_of(token: str, admin: Path, file: Path) -> Path:
    config = yaml.safe_load(admin.read_text())
    config["users"] = [{"name": "agent", "user": {"token": token}}]
    config["contexts"][0]["context"]["user"] = "agent"
    config["current-context"] = config["contexts"][0]["name"]
    file.write_text(yaml.safe_dump(config))
    return file


async def _start(account: Path, folder: Path) -> asyncio.subprocess.Process:
    with _log(folder) as log:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gitops_agent", f"--kubeconfig={account}"),
            *("--insecure-metrics", "--metrics-host=127.0.0.1", "--metrics-port=0"),
            *("--webhook-host=127.0.0.1", "--webhook-port=0", f"--cache-dir={folder}"),
            *(f"--kustomize={tools.find('kustomize')}", "--poll-seconds=1"),
            *("--lease-seconds=3", "--renew-seconds=2", "--retry-seconds=0.5"),
            cwd=ROOT,
            stderr=asyncio.subprocess.STDOUT,
            stdout=log,
        )


def _log(folder: Path) -> IO[bytes]:
    return (folder.parent / f"log-{secrets.token_hex(4)}").open("wb")


async def _until_there(scene: Scene, name: str) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                await scene.api.get(CONFIG_MAPS, name, namespace=scene.namespace)
            except NotFound:
                await asyncio.sleep(0.1)
            else:
                return


async def test_the_process_works_with_the_rights_of_the_chart_and_survives_being_killed(
    account: Path, scene: Scene, repository: Repository, tmp_path: Path
) -> None:
    files = {f"{n}.yaml": config_map(f"c{n}", a="1") for n in range(20)}
    first = await repository.push(files)
    await scene.application()
    process = await _start(account, tmp_path / "cache")
    try:
        await scene.until_synced(first)
        second = await repository.push(files | {"more.yaml": config_map("more", a="1")})
        await scene.until(lambda s: s["sync"].get("revision") == second, seconds=30)
    finally:
        process.kill()  # in the middle of whatever it does; nothing is released
        await process.wait()
    await scene.api.delete(CONFIG_MAPS, "c3", namespace=scene.namespace)

    again = await _start(account, tmp_path / "cache")
    try:
        status = await scene.until(
            lambda s: s["sync"]["status"] == "Synced" and len(s["inventory"]["entries"]) == 21,
            seconds=30,
        )
        await _until_there(scene, "c3")
    finally:
        again.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            code = await again.wait()

    assert code == 0
    assert all(entry["uid"] for entry in status["inventory"]["entries"])
