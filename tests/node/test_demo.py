"""The demo is a test of everything at once: it must pass, and leave the machine as it was, however it ends."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.node_machine import Machine, processes_of

pytestmark = [pytest.mark.node, pytest.mark.usefixtures("needs_real_nodes")]

_WHOLE_SECONDS = 300
_STEP_SECONDS = 150
_END_SECONDS = 60


@dataclass
class Theatre:
    """A state folder of its own, and the demos that were started in it."""

    state: Path
    running: list["subprocess.Popen[bytes]"] = field(default_factory=list)

    def start(self, *flags: str) -> "subprocess.Popen[bytes]":
        # Whoever runs the tests in the background has SIGINT ignored, and children inherit that.
        python = ["env", "--default-signal=INT", sys.executable]
        with self.output.open("wb") as out:
            demo = subprocess.Popen(
                [*python, "-m", "levelset", "demo", "--no-apt", *flags],
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "XDG_STATE_HOME": str(self.state)},
                start_new_session=True,
            )
        self.running.append(demo)
        return demo

    @property
    def output(self) -> Path:
        return self.state / "demo.out"

    def said(self) -> str:
        return self.output.read_text()

    def wait_until(self, holds: Callable[[str], bool]) -> None:
        deadline = time.monotonic() + _STEP_SECONDS
        while not holds(self.said()):
            assert time.monotonic() < deadline, self.said()
            assert self.running[-1].poll() is None, self.said()
            time.sleep(0.2)

    def close(self) -> None:
        for demo in self.running:
            demo.kill()
            demo.wait(timeout=_END_SECONDS)
        if processes_of(self.state):
            self.start("--down").wait(timeout=_END_SECONDS)


@pytest.fixture
def theatre() -> Iterator[Theatre]:
    # Below /tmp itself: the socket of a node's containerd must not have more than 104 characters.
    made = Theatre(Path(tempfile.mkdtemp(prefix="lvl-")))
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(made.state)


def test_the_demo_passes_and_leaves_the_machine_as_it_was(theatre: Theatre) -> None:
    before = Machine.look()
    picture = theatre.state / "rollout.svg"

    code = theatre.start(f"--picture={picture}").wait(timeout=_WHOLE_SECONDS)

    said = theatre.said()
    assert code == 0, said
    assert " requests, 0 failed" in said
    assert "kubectl run refused" in said
    assert "4 of 4 targets up" in said
    assert picture.stat().st_size > 0
    assert processes_of(theatre.state) == []
    assert Machine.look() == before


@pytest.mark.parametrize("flags", [(), ("--keep",)])
def test_an_interrupted_demo_leaves_the_machine_as_it_was(
    theatre: Theatre, flags: tuple[str, ...]
) -> None:
    before = Machine.look()
    demo = theatre.start(*flags)
    theatre.wait_until(lambda said: "exporters ready" in said)

    demo.send_signal(signal.SIGINT)
    code = demo.wait(timeout=_END_SECONDS)

    assert code == 130, theatre.said()
    assert processes_of(theatre.state) == []
    assert Machine.look() == before


def test_a_dead_controller_fails_the_demo_with_its_last_words(theatre: Theatre) -> None:
    demo = theatre.start()
    theatre.wait_until(lambda said: "exporters ready" in said)
    (victim,) = _pids_of(f"-m workloads --kubeconfig={theatre.state}")

    os.kill(victim, signal.SIGKILL)
    code = demo.wait(timeout=_END_SECONDS)

    assert code == 1, theatre.said()
    assert "workloads has ended" in theatre.said()
    assert processes_of(theatre.state) == []


def test_what_a_killed_demo_left_is_taken_down_later(theatre: Theatre) -> None:
    demo = theatre.start("--keep")
    theatre.wait_until(lambda said: "exporters ready" in said)
    demo.kill()
    demo.wait(timeout=_END_SECONDS)
    left = processes_of(theatre.state)

    code = theatre.start("--down").wait(timeout=_END_SECONDS)

    assert left != []
    assert code == 0, theatre.said()
    assert processes_of(theatre.state) == []


def _pids_of(words: str) -> list[int]:
    """Find processes by a part of their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if words in line:
                found.append(int(entry.name))
    return found
