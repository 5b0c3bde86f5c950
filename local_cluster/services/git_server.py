"""A git server on this machine: smart HTTP with authentication, bare repositories, push webhooks.

It stands in for Gitea or GitHub in the demo and the contract tests, with git's own server code behind it. The handle
here prepares files and starts `git_http` as a child process; pushes run `push_hook`.
"""

import asyncio
import json
import secrets
import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from local_cluster import ports, process
from local_cluster.errors import ClusterError
from local_cluster.services import running
from local_cluster.services.git_http import HttpConfig
from local_cluster.services.push_hook import HookSettings

_READY_TIMEOUT_SECONDS = 20.0
_GIT_TIMEOUT_SECONDS = 30.0
_MODULES = "local_cluster.services"


class GitServerError(ClusterError):
    """git refused to make a repository."""

    reason = "GitServer"


@dataclass(frozen=True, slots=True)
class GitServer:
    """A running server; `token` is the password of `user`."""

    state_dir: Path
    url: str
    user: str
    token: str = field(repr=False)
    tls: running.TlsFiles | None
    program: process.Program

    @classmethod
    def start(
        cls, state_dir: Path, *, host: str = "127.0.0.1", tls: bool = False, user: str = "levelset"
    ) -> "AbstractAsyncContextManager[GitServer]":
        """Serve `state_dir`/repositories until the block is left."""
        return running.until_left(cls.launch(state_dir, host=host, tls=tls, user=user))

    @classmethod
    async def launch(
        cls,
        state_dir: Path,
        *,
        host: str = "127.0.0.1",
        tls: bool = False,
        user: str = "levelset",
        dies_with_parent: bool = True,
    ) -> "GitServer":
        """Start the server and return when it answers; the caller stops it."""
        state_dir = running.prepare_folder(state_dir)
        repositories = running.prepare_folder(state_dir / "repositories")
        files = running.issue_server_certificate(state_dir / "tls", host) if tls else None
        token, port = secrets.token_urlsafe(24), ports.free_ports(1, host)[0]
        config = HttpConfig(
            host=host,
            port=port,
            repositories=str(repositories),
            tokens={user: token},
            certificate=str(files.certificate) if files else None,
            key=str(files.key) if files else None,
        )
        config_file = state_dir / "git-http.json"
        running.write_secret(config_file, json.dumps(asdict(config)))
        command: list[str | Path] = [sys.executable, "-m", f"{_MODULES}.git_http", config_file]
        program = process.Program.start(
            "git-http", command, log=state_dir / "git-http.log", dies_with_parent=dies_with_parent
        )
        url = f"{'https' if tls else 'http'}://{host}:{port}"
        server = cls(
            state_dir=state_dir, url=url, user=user, token=token, tls=files, program=program
        )
        await running.come_up(program, server._answers, timeout_seconds=_READY_TIMEOUT_SECONDS)
        return server

    @property
    def repositories(self) -> Path:
        """The folder of the bare repositories; the SSH server may serve the same one."""
        return self.state_dir / "repositories"

    def url_of(self, repository: str) -> str:
        """Return the clone URL of `team/app`, without credentials."""
        return f"{self.url}/{repository}.git"

    def url_with_credentials(self, repository: str) -> str:
        """Return the clone URL that git can use as it stands; it is a secret."""
        scheme, _, rest = self.url_of(repository).partition("://")
        return f"{scheme}://{self.user}:{self.token}@{rest}"

    async def create_repository(self, repository: str, *, default_branch: str = "main") -> str:
        """Make an empty bare repository such as `team/app`; returns its clone URL."""
        path = self.repositories / f"{repository}.git"
        if not path.resolve().is_relative_to(self.repositories):
            raise GitServerError(f"repository {repository!r} lies outside {self.repositories}")
        await _git("init", "--quiet", "--bare", f"--initial-branch={default_branch}", str(path))
        for key in (
            "http.receivepack",
            "uploadpack.allowAnySHA1InWant",
        ):  # the second is GitHub's way
            await _git("-C", str(path), "config", key, "true")
        hook = path / "hooks" / "post-receive"
        hook.write_text(_HOOK.format(python=sys.executable, settings=self._webhook_file))
        hook.chmod(0o755)
        return self.url_of(repository)

    def set_webhook(self, url: str, *, secret: str, ca_file: Path | None = None) -> None:
        """Deliver a push event of every repository to `url` from now on."""
        settings = HookSettings(
            url=url,
            secret=secret,
            clone_base_url=self.url,
            ca_file=str(ca_file) if ca_file else None,
        )
        running.write_secret(self._webhook_file, json.dumps(asdict(settings)))

    async def stop(self) -> None:
        """End the server; repositories stay."""
        await running.end(self.program)

    @property
    def _webhook_file(self) -> Path:
        return self.state_dir / "webhook.json"

    async def _answers(self) -> bool:
        ca = self.tls.ca if self.tls else None
        return await running.answers(
            f"{self.url}/ready", 401, ca=ca
        )  # it asks who we are: it is up


_HOOK = """#!/bin/sh
# Told by git after refs moved; the settings file is absent until a webhook is set.
exec "{python}" -m local_cluster.services.push_hook "{settings}"
"""


async def _git(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec(
        "git", *arguments, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    async with asyncio.timeout(_GIT_TIMEOUT_SECONDS):
        output, _ = await process.communicate()
    if process.returncode:
        raise GitServerError(
            f"git {arguments[0]} failed: {output.decode(errors='replace').strip()}"
        )
