"""The git server is git's own, so a plain git client must get along with it, with the token and not without."""

import asyncio
import json
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from local_cluster.services import push_hook
from local_cluster.services.git_server import GitServer, GitServerError
from local_cluster.services.ssh_server import SshServer

pytestmark = pytest.mark.contract

SECRET = "hook-secret"


@dataclass
class Receiver:
    """What a webhook receiver was sent."""

    url: str = ""
    status: int = 202
    deliveries: list[tuple[Mapping[str, str], bytes]] = field(default_factory=list)


@pytest_asyncio.fixture
async def receiver() -> AsyncIterator[Receiver]:
    found = Receiver()

    async def receive(request: web.Request) -> web.Response:
        found.deliveries.append((request.headers, await request.read()))
        return web.Response(status=found.status)

    app = web.Application()
    app.router.add_post("/hook", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}/hook"
    yield found
    await runner.cleanup()


async def git(*arguments: str, cwd: Path, **environment: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        "git",
        *("-c", "user.name=Test", "-c", "user.email=test@levelset.test"),
        *arguments,
        cwd=cwd,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(cwd),
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            **environment,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    return process.returncode or 0, output.decode()


async def commit(folder: Path, files: Mapping[str, bytes]) -> str:
    await git("init", "--quiet", "--initial-branch=main", str(folder), cwd=folder.parent)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    await git("add", "--all", cwd=folder)
    await git("commit", "--quiet", "--message=Change", cwd=folder)
    return (await git("rev-parse", "HEAD", cwd=folder))[1].strip()


async def test_a_push_with_the_token_can_be_cloned_again(
    git_server: GitServer, tmp_path: Path
) -> None:
    await git_server.create_repository("team/app")
    head = await commit(tmp_path / "work", {"a.yaml": b"a: 1\n"})
    url = git_server.url_with_credentials("team/app")

    pushed, said = await git("push", url, "HEAD:main", cwd=tmp_path / "work")
    assert pushed == 0, said
    cloned, said = await git("clone", url, "copy", cwd=tmp_path)

    assert cloned == 0, said
    assert (await git("rev-parse", "HEAD", cwd=tmp_path / "copy"))[1].strip() == head


async def test_a_push_larger_than_gits_buffer_streams_through(
    git_server: GitServer, tmp_path: Path
) -> None:
    await git_server.create_repository("big")
    content = os.urandom(
        4 * 1024 * 1024
    )  # over http.postBuffer: git sends chunks, gzipped requests
    await commit(tmp_path / "work", {"blob": content})
    url = git_server.url_with_credentials("big")

    pushed, said = await git("push", url, "HEAD:main", cwd=tmp_path / "work")
    assert pushed == 0, said
    await git("clone", url, "copy", cwd=tmp_path)

    assert (tmp_path / "copy" / "blob").read_bytes() == content


@pytest.mark.parametrize("credentials", ["", "levelset:wrong@", "nobody:token@"])
async def test_nobody_reads_without_the_token(
    git_server: GitServer, tmp_path: Path, credentials: str
) -> None:
    url = await git_server.create_repository("private")
    url = url.replace("://", f"://{credentials}")

    code, said = await git("ls-remote", url, cwd=tmp_path)

    assert code != 0
    assert "could not read" in said or "Authentication failed" in said


async def test_a_commit_can_be_fetched_by_its_id(git_server: GitServer, tmp_path: Path) -> None:
    await git_server.create_repository("app")
    first = await commit(tmp_path / "work", {"a": b"1"})
    await commit(tmp_path / "work", {"a": b"2"})
    url = git_server.url_with_credentials("app")
    await git("push", url, "HEAD:main", cwd=tmp_path / "work")
    await git("init", "--quiet", "copy", cwd=tmp_path)

    code, said = await git("fetch", "--depth=1", url, first, cwd=tmp_path / "copy")

    assert code == 0, said


async def test_a_push_is_told_to_the_webhook_with_a_signature(
    git_server: GitServer, receiver: Receiver, tmp_path: Path
) -> None:
    url = await git_server.create_repository("team/app")
    git_server.set_webhook(receiver.url, secret=SECRET)
    head = await commit(tmp_path / "work", {"a": b"1"})

    _, said = await git(
        *("push", git_server.url_with_credentials("team/app"), "HEAD:main"), cwd=tmp_path / "work"
    )

    headers, body = receiver.deliveries[0]
    event = json.loads(body)
    assert "webhook: 202" in said
    assert len(receiver.deliveries) == 1
    assert headers["X-GitHub-Event"] == "push"
    assert headers["X-Hub-Signature-256"] == push_hook.signature(SECRET, body)
    assert (event["ref"], event["before"], event["after"]) == ("refs/heads/main", "0" * 40, head)
    assert event["repository"]["clone_url"] == url


async def test_a_receiver_that_refuses_or_is_down_does_not_fail_the_push(
    git_server: GitServer, receiver: Receiver, tmp_path: Path
) -> None:
    await git_server.create_repository("app")
    receiver.status = 403
    url = git_server.url_with_credentials("app")
    await commit(tmp_path / "work", {"a": b"1"})

    git_server.set_webhook(receiver.url, secret=SECRET)
    refused = await git("push", url, "HEAD:main", cwd=tmp_path / "work")
    git_server.set_webhook("http://127.0.0.1:9/hook", secret=SECRET)
    down = await git("push", url, "HEAD:other", cwd=tmp_path / "work")

    assert (refused[0], down[0]) == (0, 0)
    assert "webhook: refused with 403" in refused[1]
    assert "webhook: not delivered" in down[1]


async def test_tls_is_trusted_with_the_servers_authority_only(tmp_path: Path) -> None:
    async with GitServer.start(tmp_path / "git", tls=True) as server:
        await server.create_repository("app")
        assert server.tls is not None
        url = server.url_with_credentials("app")

        trusted, said = await git("ls-remote", url, cwd=tmp_path, GIT_SSL_CAINFO=str(server.tls.ca))
        untrusted, _ = await git("ls-remote", url, cwd=tmp_path)

    assert trusted == 0, said
    assert untrusted != 0


async def test_its_certificate_passes_the_strict_rules_of_newer_pythons(tmp_path: Path) -> None:
    async with GitServer.start(tmp_path / "git", tls=True) as server:
        assert server.tls is not None
        strict = ssl.create_default_context(cafile=server.tls.ca)
        strict.verify_flags |= ssl.VERIFY_X509_STRICT  # the default of Python 3.13
        timeout = aiohttp.ClientTimeout(total=10)

        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{server.url}/ready", ssl=strict) as answer,
        ):
            assert answer.status == 401


async def test_a_repository_outside_the_servers_folder_is_refused(git_server: GitServer) -> None:
    with pytest.raises(GitServerError, match="outside"):
        await git_server.create_repository("../../outside")


async def test_ssh_serves_the_same_repositories_to_its_own_key(
    git_server: GitServer, ssh_server: SshServer, tmp_path: Path
) -> None:
    await git_server.create_repository("team/app")
    head = await commit(tmp_path / "work", {"a": b"1"})
    url, ssh = ssh_server.url_of("team/app"), ssh_server.ssh_command

    pushed, said = await git("push", url, "HEAD:main", cwd=tmp_path / "work", GIT_SSH_COMMAND=ssh)
    assert pushed == 0, said
    code, refs = await git("ls-remote", git_server.url_with_credentials("team/app"), cwd=tmp_path)

    assert code == 0
    assert f"{head}\trefs/heads/main" in refs


async def test_ssh_refuses_a_host_key_that_is_not_known(
    ssh_server: SshServer, tmp_path: Path
) -> None:
    (tmp_path / "empty").touch()
    ssh = ssh_server.ssh_command.replace(str(ssh_server.known_hosts_file), str(tmp_path / "empty"))

    code, said = await git("ls-remote", ssh_server.url_of("x"), cwd=tmp_path, GIT_SSH_COMMAND=ssh)

    assert code != 0
    assert "Host key verification failed" in said


async def test_ssh_runs_nothing_but_git(ssh_server: SshServer) -> None:
    port = ssh_server.url.rpartition(":")[2]
    process = await asyncio.create_subprocess_exec(
        *ssh_server.ssh_command.split(),
        *("-p", port, "127.0.0.1", "cat", "/etc/passwd"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(20):
        output, _ = await process.communicate()

    assert process.returncode != 0
    assert output == b""


async def test_a_stopped_server_has_left_nothing_running(tmp_path: Path) -> None:
    async with GitServer.start(tmp_path / "git") as server:
        assert server.program.identity.is_alive()

    assert not server.program.identity.is_alive()
