"""Run the kustomize binary where it can do no harm.

It gets plain files in a folder of its own, an empty home, no PATH (so that it finds no git and no
helm), a proxy that leads nowhere, bounded memory, time and output, and its own load restrictions.
"""

import asyncio
import os
import resource
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from gitops_agent import processes
from gitops_agent.errors import LimitExceeded, RenderFailed
from gitops_agent.render.kustomization import KustomizeOptions, wrapper
from gitops_agent.render.strict_yaml import load_documents

_NOWHERE: Final = "http://127.0.0.1:9"
_ERROR_SHOWN: Final = 600
_REPOSITORY: Final = "repository"


@dataclass(frozen=True, slots=True)
class KustomizeLimits:
    """What one build may take."""

    timeout_seconds: float = 30.0
    output_bytes: int = 32 * 1024 * 1024
    memory_bytes: int = 1024 * 1024 * 1024
    cpu_seconds: int = 30


class Kustomize:
    """One kustomize binary."""

    def __init__(self, program: str, limits: KustomizeLimits) -> None:
        self._program = program
        self._limits = limits

    def identity(self) -> str:
        """Return what tells this binary from another in a cache key; raises RenderFailed."""
        path = self._find()
        stat = path.stat()
        return f"{path}:{stat.st_size}:{stat.st_mtime_ns}"

    async def build(
        self, files: Mapping[str, bytes], path: str, options: KustomizeOptions
    ) -> list[tuple[str, Any]]:
        """Render one directory of the files; yields (source, value) for each document."""
        program = await asyncio.to_thread(self._find)
        folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="levelset-render-"))
        try:
            target = await asyncio.to_thread(_lay_out, folder, files, path, options)
            output = await self._run(program, target, folder)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        source = f"kustomize build {path or '.'}"
        return [(source, value) for value in load_documents(output, source=source)]

    async def _run(self, program: Path, target: Path, folder: Path) -> bytes:
        limits = processes.ProcessLimits(
            timeout_seconds=self._limits.timeout_seconds,
            output_bytes=self._limits.output_bytes,
            resources={
                resource.RLIMIT_DATA: self._limits.memory_bytes,
                resource.RLIMIT_CPU: self._limits.cpu_seconds,
                resource.RLIMIT_FSIZE: 0,
                resource.RLIMIT_CORE: 0,
                resource.RLIMIT_NOFILE: 256,
            },
        )
        arguments = [str(program), "build", "--load-restrictor=LoadRestrictionsRootOnly"]
        try:
            done = await processes.run(
                [*arguments, str(target)], cwd=folder, env=_environment(folder), limits=limits
            )
        except TimeoutError as error:
            seconds = self._limits.timeout_seconds
            raise LimitExceeded(f"kustomize took longer than {seconds:g} s") from error
        except OSError as error:
            raise RenderFailed(f"{program}: cannot be started: {error.strerror}") from error
        if done.code != 0:
            raise RenderFailed(f"kustomize: {_said(done.stderr, folder)}")
        return done.stdout

    def _find(self) -> Path:
        found = shutil.which(self._program)
        if found is None:
            raise RenderFailed(
                f"kustomize is not here: looked for {self._program!r}; "
                "install kustomize v5 or set --kustomize",
                retry_after=60.0,
            )
        return Path(found).resolve()


def _environment(folder: Path) -> dict[str, str]:
    return {
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "home"),
        "XDG_CONFIG_HOME": str(folder / "home"),
        "PATH": "",
        "HTTP_PROXY": _NOWHERE,
        "HTTPS_PROXY": _NOWHERE,
        "NO_PROXY": "",
        "GOMEMLIMIT": "512MiB",
    }


def _lay_out(
    folder: Path, files: Mapping[str, bytes], path: str, options: KustomizeOptions
) -> Path:
    """Write the files and, where there are options, a kustomization around them."""
    (folder / "home").mkdir()
    root = folder / _REPOSITORY
    root.mkdir()
    for name, data in files.items():
        file = Path(os.path.normpath(root / name))
        if not file.is_relative_to(root):
            raise AssertionError(f"{name}: the tree must have checked this path")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    if options == KustomizeOptions():
        return root / path
    around = folder / "around"
    around.mkdir()
    base = f"../{_REPOSITORY}/{path}".rstrip("/")
    (around / "kustomization.yaml").write_bytes(orjson.dumps(wrapper(options, base)))
    return around


def _said(stderr: str, folder: Path) -> str:
    """Shorten an error, and show paths as they are in the repository."""
    text = " ".join(stderr.split()).removeprefix("Error: ")
    for shown in (f"{folder / _REPOSITORY}/", f"{folder}/"):
        text = text.replace(shown, "")
    return text[:_ERROR_SHOWN] or "failed without a word"
