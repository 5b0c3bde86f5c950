"""The Git repository of the demo: a copy of examples/demo that is committed and pushed as a person would.

Talks to git itself, on the command line; the pushed URL carries the token, so the folder is private.
"""

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import yaml

from levelset.demo.errors import DemoFailedError

_TIMEOUT_SECONDS = 60.0
_AUTHOR = {
    "GIT_AUTHOR_NAME": "Demo",
    "GIT_AUTHOR_EMAIL": "demo@levelset.dev",
    "GIT_COMMITTER_NAME": "Demo",
    "GIT_COMMITTER_EMAIL": "demo@levelset.dev",
}
OVERLAY = "overlays/staging"


@dataclass(frozen=True, slots=True)
class Pushed:
    """A commit on the server, and what the server said to the pusher."""

    commit: str
    remote_said: str


@dataclass(frozen=True, slots=True)
class Repository:
    """The working copy."""

    folder: Path
    push_url: str

    @classmethod
    async def create(cls, folder: Path, *, source: Path, push_url: str) -> "Repository":
        """Copy the content and make it a repository; nothing is committed yet."""
        await asyncio.to_thread(shutil.copytree, source, folder)
        repository = cls(folder, push_url)
        await repository._git("init", "--quiet", "--initial-branch=main")
        await repository._git("remote", "add", "origin", push_url)
        return repository

    def set_image(self, name: str, digest: str) -> None:
        """Make the staging overlay run this digest."""
        path = self.folder / OVERLAY / "kustomization.yaml"
        path.write_text(with_image(path.read_text(), name, digest))

    async def push(self, message: str) -> Pushed:
        """Commit everything and push it to main."""
        await self._git("add", "--all")
        await self._git("commit", "--quiet", "--message", message)
        commit = await self._git("rev-parse", "HEAD")
        said = await self._git("push", "origin", "HEAD:main")
        remote = [line.strip() for line in said.splitlines() if line.startswith("remote:")]
        return Pushed(commit.strip(), "\n".join(remote))

    async def _git(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            "git",
            *arguments,
            cwd=self.folder,
            env={**os.environ, **_AUTHOR, "GIT_TERMINAL_PROMPT": "0"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                output, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            raise DemoFailedError(
                f"git {arguments[0]} in {self.folder}: no end within {_TIMEOUT_SECONDS:.0f} s"
            ) from None
        text = output.decode(errors="replace").replace(self.push_url, "the git server")
        if process.returncode:
            raise DemoFailedError(f"git {arguments[0]} in {self.folder} failed: {text.strip()}")
        return text


def with_image(kustomization: str, name: str, digest: str) -> str:
    """Return the kustomization with another image; everything else stays as it is."""
    document = yaml.safe_load(kustomization)
    document["images"] = [{"name": "web", "newName": name, "digest": digest}]
    return yaml.safe_dump(document, sort_keys=False)
