"""Children that hang, shout or grow are ended, with everything that they have started."""

import asyncio
import os
import resource
import signal
import sys
from pathlib import Path

import pytest

from gitops_agent.errors import LimitExceeded, RenderFailed
from gitops_agent.processes import ProcessLimits, run
from gitops_agent.render.kustomization import KustomizeOptions
from gitops_agent.render.kustomize import Kustomize, KustomizeLimits

pytestmark = pytest.mark.contract

LIMITS = ProcessLimits(timeout_seconds=2.0, output_bytes=1000)
ENV = {"PATH": os.environ["PATH"]}


async def test_a_child_that_hangs_is_killed_with_its_own_children(tmp_path: Path) -> None:
    script = "sleep 300 & echo $! > pid; exec 1>&-; wait"

    with pytest.raises(TimeoutError):
        await run(["sh", "-c", script], cwd=tmp_path, env=ENV, limits=LIMITS)

    grandchild = int((tmp_path / "pid").read_text())
    async with asyncio.timeout(5):
        while _is_running(grandchild):  # noqa: ASYNC110 - asks the kernel
            await asyncio.sleep(0.05)


async def test_a_child_is_killed_when_its_caller_gives_up(tmp_path: Path) -> None:
    limits = ProcessLimits(timeout_seconds=60, output_bytes=1000)
    script = "echo $$ > pid; sleep 300"
    task = asyncio.create_task(run(["sh", "-c", script], cwd=tmp_path, env=ENV, limits=limits))
    async with asyncio.timeout(10):
        while not _content(tmp_path / "pid"):  # noqa: ASYNC110 - asks the file system
            await asyncio.sleep(0.02)

    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert not _is_running(int((tmp_path / "pid").read_text()))


async def test_a_child_that_shouts_is_cut_off(tmp_path: Path) -> None:
    with pytest.raises(LimitExceeded, match="1000 bytes"):
        await run(["yes"], cwd=tmp_path, env=ENV, limits=LIMITS)


async def test_a_helper_that_has_left_the_group_holds_nobody_up(tmp_path: Path) -> None:
    script = "setsid sh -c 'echo $$ > pid; exec sleep 300' & until [ -s pid ]; do :; done; yes"

    try:
        async with asyncio.timeout(10):
            with pytest.raises(LimitExceeded, match="1000 bytes"):
                await run(["sh", "-c", script], cwd=tmp_path, env=ENV, limits=LIMITS)
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


async def test_errors_are_kept_by_their_end_and_the_environment_is_only_what_is_given(
    tmp_path: Path,
) -> None:
    script = "import os, sys; sys.stderr.write('x' * 200000 + 'end'); print(sorted(os.environ))"

    done = await run([sys.executable, "-c", script], cwd=tmp_path, env=ENV, limits=LIMITS)

    assert done.code == 0
    assert done.stderr.endswith("end")
    assert len(done.stderr) <= 64 * 1024
    assert b"HOME" not in done.stdout
    assert b"'PATH'" in done.stdout


async def test_a_child_that_writes_files_beyond_its_limit_ends(tmp_path: Path) -> None:
    limits = ProcessLimits(10, 1000, {resource.RLIMIT_FSIZE: 1000})
    script = "import time; time.sleep(0.3); open('f', 'wb').write(b'x' * 100000)"

    done = await run([sys.executable, "-c", script], cwd=tmp_path, env=ENV, limits=limits)

    assert done.code != 0
    assert (tmp_path / "f").stat().st_size <= 1000


async def test_a_kustomize_that_is_missing_or_hangs_is_told_in_a_line(tmp_path: Path) -> None:
    missing = Kustomize("no-such-kustomize", KustomizeLimits())
    with pytest.raises(RenderFailed, match="--kustomize"):
        await missing.build({}, "", KustomizeOptions())

    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\n/bin/sleep 300\n")
    slow.chmod(0o755)
    hanging = Kustomize(str(slow), KustomizeLimits(timeout_seconds=1))
    with pytest.raises(LimitExceeded, match="longer than 1 s"):
        await hanging.build({"kustomization.yaml": b"{}"}, "", KustomizeOptions())


def _content(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def _is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
