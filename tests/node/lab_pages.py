"""Runs a page of docs/labs as it stands, in one bash, and compares what its commands print.

In a block marked `console`, `$ ` begins a command and `> ` continues it; the lines after it are
what it prints, where `…` stands for anything and a line `…` for any number of lines. A command
whose lines begin with Error must fail, every other one must succeed.
"""

import asyncio
import os
import re
import secrets
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from local_cluster import tools

ROOT = Path(__file__).parents[2]
LABS = ROOT / "docs" / "labs"
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECONDS = 120.0


@dataclass
class Step:
    """A command of a page, and what the page says that it prints."""

    command: str
    printed: list[str] = field(default_factory=list)

    @property
    def must_fail(self) -> bool:
        return bool(self.printed) and self.printed[0].startswith("Error")

    def is_as_told(self, code: int, output: str) -> bool:
        if (code != 0) != self.must_fail:
            return False
        return not self.printed or re.fullmatch(_pattern(self.printed), output) is not None


def steps(page: str) -> list[Step]:
    """Read the commands of a page."""
    found: list[Step] = []
    for block in _BLOCK.findall((LABS / page).read_text()):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append(Step(line.removeprefix("$ ")))
            elif line.startswith("> "):
                found[-1].command += "\n" + line.removeprefix("> ")
            else:
                found[-1].printed.append(line)
    return found


async def play(page: str, kubeconfig: Path) -> int:
    """Run a page's commands in order and return how many there were."""
    todo = steps(page)
    marker = secrets.token_hex(8)
    script = "".join(f"{{\n{step.command}\n}} 2>&1\necho {marker} $?\n" for step in todo)
    done = list(_answers(await _bash(script, kubeconfig), marker))
    shown = ""
    for step, (code, output) in zip(todo, done, strict=False):
        shown += f"$ {step.command}\n{output}"
        assert step.is_as_told(code, output), f"{shown}(exit code {code})"
    assert len(done) == len(todo), f"it ended in: {todo[len(done)].command}"
    return len(done)


async def _bash(script: str, kubeconfig: Path) -> str:
    """Run a script from the root of the repository; it and its children end with the deadline."""
    running = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        script,
        cwd=ROOT,
        env=_environment(kubeconfig),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            printed, _ = await running.communicate()
    finally:
        if running.returncode is None:
            os.killpg(running.pid, signal.SIGKILL)
            await running.wait()
    return printed.decode()


def _environment(kubeconfig: Path) -> Mapping[str, str]:
    programs = [tools.find("kubectl").parent, Path(sys.executable).parent]
    path = os.pathsep.join([*map(str, programs), os.environ["PATH"]])
    cache = {"KUBECACHEDIR": str(kubeconfig.parent / "cache")}
    return {**os.environ, "KUBECONFIG": str(kubeconfig), "PATH": path, **cache}


def _answers(printed: str, marker: str) -> Iterator[tuple[int, str]]:
    pieces = re.split(rf"^{marker} (\d+)\n", printed, flags=re.MULTILINE)
    for output, code in zip(pieces[::2], pieces[1::2], strict=False):
        yield int(code), output


def _pattern(lines: list[str]) -> str:
    patterns = (
        r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
        for line in lines
    )
    return "".join(patterns)
