"""Repositories as the world has them: private, over TLS and SSH, gone, moved, and hostile."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web

from gitops_agent.agent import Agent
from kube_runtime.api import ApiClient
from kube_runtime.resource import CONFIG_MAPS, NAMESPACES, Json
from local_cluster.services.git_server import GitServer
from local_cluster.services.ssh_server import SshServer
from tests.contract.gitops_agent.conftest import (
    Repository,
    Scene,
    condition,
    config_map,
    git,
    running_agent,
)

pytestmark = pytest.mark.contract


async def _error(scene: Scene) -> Json:
    status = await scene.until(lambda s: condition(s, "ComparisonError"))
    assert status["sync"]["status"] == "Unknown"
    return condition(status, "ComparisonError")


async def test_git_over_ssh_with_a_key_and_a_known_host(
    agent: Agent, scene: Scene, repository: Repository, ssh_server: SshServer
) -> None:
    url = ssh_server.url_of(repository.url.split("/", 3)[3].removesuffix(".git"))
    commit = await repository.push({"a.yaml": config_map("over-ssh", a="1")})
    await scene.credentials(
        url=url,
        sshPrivateKey=ssh_server.identity_file.read_text(),
        knownHosts=ssh_server.known_hosts_file.read_text(),
    )

    await scene.application(source={"repoURL": url})

    await scene.until_synced(commit)


async def test_an_ssh_host_that_is_not_the_known_one_is_refused(
    agent: Agent, scene: Scene, repository: Repository, ssh_server: SshServer
) -> None:
    url = ssh_server.url_of(repository.url.split("/", 3)[3].removesuffix(".git"))
    await repository.push({"a.yaml": config_map("over-ssh", a="1")})
    host, kind, _ = ssh_server.known_hosts_file.read_text().split()[:3]
    other = (ssh_server.identity_file.parent / "client_key.pub").read_text().split()[1]
    await scene.credentials(
        url=url,
        sshPrivateKey=ssh_server.identity_file.read_text(),
        knownHosts=f"{host} {kind} {other}",
    )

    await scene.application(source={"repoURL": url})

    assert (await _error(scene))["reason"] == "HostKeyRejected"


async def test_ssh_without_a_known_host_is_not_even_tried(
    agent: Agent, scene: Scene, repository: Repository, ssh_server: SshServer
) -> None:
    url = ssh_server.url_of("team/x")
    await scene.credentials(url=url, sshPrivateKey=ssh_server.identity_file.read_text())

    await scene.application(source={"repoURL": url})

    error = await _error(scene)
    assert error["reason"] == "InvalidSpec"
    assert "knownHosts" in error["message"]


@pytest.fixture
async def tls_server(tmp_path: Path) -> AsyncIterator[GitServer]:
    async with GitServer.start(tmp_path / "tls-git", tls=True) as server:
        yield server


async def test_https_needs_the_right_authority(
    agent: Agent, scene: Scene, tls_server: GitServer, tmp_path: Path
) -> None:
    url = await tls_server.create_repository("team/app")
    assert tls_server.tls is not None
    work = tmp_path / "tls-work"
    work.mkdir()
    git("init", "-q", "-b", "main", cwd=work)
    git("config", "http.sslCAInfo", str(tls_server.tls.ca), cwd=work)
    git("remote", "add", "origin", tls_server.url_with_credentials("team/app"), cwd=work)
    commit = await Repository(url, work, tls_server.token).push(
        {"a.yaml": config_map("tls", a="1")}
    )
    await scene.credentials(url=url, password=tls_server.token)
    await scene.application(source={"repoURL": url})
    assert "certificate" in (await _error(scene))["message"].lower()

    await scene.credentials(url=url, password=tls_server.token, ca=tls_server.tls.ca.read_text())
    await scene.sync_annotation("again")
    await asyncio.sleep(0)

    await scene.until_synced(commit)


async def test_credentials_are_not_carried_to_where_a_redirect_leads(
    agent: Agent, scene: Scene
) -> None:
    seen: list[web.Request] = []

    async def elsewhere(request: web.Request) -> web.Response:
        seen.append(request)
        return web.Response(status=404)

    async def moved(request: web.Request) -> web.Response:
        raise web.HTTPFound(f"http://127.0.0.1:{ports[0]}{request.path_qs}")

    ports: list[int] = []
    runners = []
    for handler in (elsewhere, moved):
        application = web.Application()
        application.router.add_route("*", "/{rest:.*}", handler)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ports.append(runner.addresses[0][1])
        runners.append(runner)
    try:
        url = f"http://127.0.0.1:{ports[1]}/team/app.git"
        await scene.credentials(url=url, password="must-not-travel")
        await scene.application(source={"repoURL": url})

        error = await _error(scene)
    finally:
        for runner in runners:
            await runner.cleanup()

    assert "redirects are not followed" in error["message"]
    assert seen == []


async def test_a_repository_that_cannot_be_reached_says_so_and_prunes_nothing(
    agent: Agent, scene: Scene, repository: Repository, git_server: GitServer
) -> None:
    commit = await repository.push({"a.yaml": config_map("kept", a="1")})
    await scene.application()
    await scene.until_synced(commit)

    await git_server.stop()
    await scene.sync_annotation("after-the-end")
    error = await _error(scene)

    assert error["reason"] == "GitFailed"
    assert repository.url.split("/")[2] in error["message"]
    await scene.api.get(CONFIG_MAPS, "kept", namespace=scene.namespace)


async def test_somebody_without_credentials_cannot_read_from_the_cache_of_who_has_them(
    agent: Agent, scene: Scene, repository: Repository, api: ApiClient, other_namespace: str
) -> None:
    commit = await repository.push({"a.yaml": config_map("private", a="1")})
    await scene.application()
    await scene.until_synced(commit)
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other_namespace}}
    await api.create(NAMESPACES, space)
    stranger = Scene(api, other_namespace, repository)

    await stranger.application()

    assert (await _error(stranger))["reason"] == "AuthenticationFailed"


async def test_a_symbolic_link_out_of_the_repository_is_refused(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await repository.push({"a.yaml": config_map("fine", a="1")})
    (repository.path / "passwd.yaml").symlink_to("../../../../etc/passwd")
    repository.commit()

    await scene.application()

    error = await _error(scene)
    assert error["reason"] == "UnsafePath"
    assert "passwd.yaml" in error["message"]


async def test_an_absolute_link_is_refused_and_one_inside_works(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await repository.push({"shared/base.yaml": config_map("linked", a="1"), "app/README": "x"})
    (repository.path / "app" / "base.yaml").symlink_to("../shared/base.yaml")
    commit = repository.commit()
    await scene.application(source={"path": "app"})
    await scene.until_synced(commit)

    (repository.path / "app" / "host.yaml").symlink_to("/etc/hostname")
    repository.commit()

    assert (await _error(scene))["reason"] == "UnsafePath"


async def test_a_huge_file_is_refused_before_it_is_read(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await repository.push({"a.yaml": config_map("fine", a="1")})
    with (repository.path / "huge.yaml").open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    repository.commit()

    await scene.application()

    error = await _error(scene)
    assert error["reason"] == "LimitExceeded"
    assert "huge.yaml: 67108864 bytes" in error["message"]


async def test_a_yaml_bomb_is_refused(agent: Agent, scene: Scene, repository: Repository) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    await repository.push({"bomb.yaml": "\n".join(lines) + "\n"})

    await scene.application()

    assert (await _error(scene))["reason"] == "LimitExceeded"


@pytest.mark.parametrize(
    ("kustomization", "word"),
    [
        pytest.param("resources: [https://example.com/x.yaml]\n", "remote", id="url"),
        pytest.param("resources: ['github.com/team/app?ref=v1']\n", "remote", id="repository"),
        pytest.param("resources: [../../../etc]\n", "out of the repository", id="outside"),
        pytest.param("resources: [/etc]\n", "remote or absolute", id="absolute"),
        pytest.param("patches: [{path: 'https://example.com/p.yaml'}]\n", "remote", id="patch"),
        pytest.param(
            "helmCharts: [{name: x, repo: 'https://example.com'}]\n", "helmCharts", id="helm"
        ),
        pytest.param("resources: [.]\n", "cycle", id="itself"),
    ],
)
async def test_a_kustomization_cannot_reach_beyond_the_repository(
    agent: Agent, scene: Scene, repository: Repository, kustomization: str, word: str
) -> None:
    await repository.push({"app/kustomization.yaml": kustomization})

    await scene.application(source={"path": "app"})

    assert word in (await _error(scene))["message"]


async def test_hooks_and_configuration_of_a_repository_are_never_run(
    agent: Agent, scene: Scene, repository: Repository, tmp_path: Path
) -> None:
    marker = tmp_path / "was-here"
    hook = f"#!/bin/sh\ntouch {marker}\n"
    commit = await repository.push(
        {
            "a.yaml": config_map("fine", a="1"),
            ".git-hooks/post-checkout": hook,
            ".gitattributes": "*.yaml filter=evil\n",
            ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% /tmp/x\n',
            ".gitconfig": f'[filter "evil"]\n\tsmudge = touch {marker}\n',
        }
    )
    await scene.application()

    await scene.until_synced(commit)

    assert not marker.exists()


async def test_a_path_that_is_not_there_is_named(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("fine", a="1")})

    await scene.application(source={"path": "no/such"})

    error = await _error(scene)
    assert "'no/such'" in error["message"]
    assert commit in error["message"]


async def test_the_agents_environment_does_not_reach_git(
    agent: Agent, scene: Scene, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    monkeypatch.setenv("GIT_DIR", os.devnull)
    monkeypatch.setenv("GIT_PROXY_COMMAND", "false")
    commit = await repository.push({"a.yaml": config_map("fine", a="1")})

    await scene.application()

    await scene.until_synced(commit)


async def test_a_cache_that_was_emptied_is_filled_again(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    first = await repository.push({"a.yaml": config_map("a", v="1")})
    await scene.application()
    await scene.until_synced(first)

    await asyncio.to_thread(shutil.rmtree, agent._settings.cache_dir)
    second = await repository.push({"a.yaml": config_map("a", v="2")})

    await scene.until_synced(second)


async def test_the_locks_of_a_git_that_was_killed_do_not_stay(
    kubeconfig: Path, scene: Scene, repository: Repository, tmp_path: Path
) -> None:
    first = await repository.push({"a.yaml": config_map("a", v="1")})
    async with running_agent(kubeconfig, tmp_path / "agent"):
        await scene.application()
        await scene.until_synced(first)
    (mirror,) = await asyncio.to_thread(lambda: [*(tmp_path / "agent" / "cache").glob("*.git")])
    for leftover in ("packed-refs.lock", "refs/heads/main.lock", "objects/pack/tmp_pack_x"):
        (mirror / leftover).touch()

    second = await repository.push({"a.yaml": config_map("a", v="2")})
    async with running_agent(kubeconfig, tmp_path / "agent"):
        await scene.until_synced(second)

    assert not (mirror / "objects/pack/tmp_pack_x").exists()
