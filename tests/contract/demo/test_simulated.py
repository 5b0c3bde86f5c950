"""The demo on a machine without containerd: it says so, and goes all the way on simulated nodes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.contract

_SECONDS = 240
_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")


@pytest.fixture
def path_without_containerd(tmp_path: Path) -> Path:
    """A folder with every program of this machine but one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in _FOLDERS:
        for program in Path(place).glob("*"):
            link = folder / program.name
            if program.name != "containerd" and not link.is_symlink():
                link.symlink_to(program)
    return folder


def test_without_containerd_the_demo_goes_on_with_simulated_nodes(
    path_without_containerd: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "rollout.png"

    done = subprocess.run(
        [sys.executable, "-m", "levelset", "demo", "--no-apt", f"--picture={picture}"],
        env={
            **os.environ,
            "PATH": str(path_without_containerd),
            "XDG_STATE_HOME": str(tmp_path / "state"),
        },
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )

    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "going on with simulated nodes, whose pods do not run" in said
    assert "3 simulated nodes Ready" in said
    assert "sync stopped with policy and digest named" in said
    assert "kubectl run refused" in said
    assert "4 of 4 targets up" in said
    assert picture.stat().st_size > 0
    assert not list((tmp_path / "state").rglob("*.kubeconfig")), said
