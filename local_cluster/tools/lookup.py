"""Finds a program: LEVELSET_BIN_DIR, then PATH if it is the pinned version, then the cache.

LEVELSET_BIN_DIR is taken at its word: whoever sets it knows what is in it.
"""

import enum
import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from local_cluster.errors import MissingTool
from local_cluster.tools import catalogue

BIN_DIR_VARIABLE = "LEVELSET_BIN_DIR"
_VERSION = re.compile(r"\bv?(\d+\.\d+\.\d+)\b")


class Origin(enum.Enum):
    """Where a program was found."""

    BIN_DIR = BIN_DIR_VARIABLE
    PATH = "PATH"
    CACHE = "cache"


@dataclass(frozen=True, slots=True)
class Found:
    """A program's file, and by which rule it was found."""

    path: Path
    origin: Origin


def find(name: str) -> Path:
    """Find a program or raise MissingTool, whose message says how to get it."""
    found = look(name)
    if found is not None:
        return found.path
    program = catalogue.program(name)
    places = f"in {BIN_DIR_VARIABLE} nor on PATH nor in {cache_path(program).parent}"
    raise MissingTool(
        f"{name} {program.version} is neither {places}: run `levelset tools install --for tests`"
    )


def look(name: str) -> Found | None:
    """Find a program, or None."""
    program = catalogue.program(name)
    if (directory := os.environ.get(BIN_DIR_VARIABLE)) and _is_program(Path(directory, name)):
        return Found(Path(directory, name).absolute(), Origin.BIN_DIR)
    if (on_path := shutil.which(name)) and _is_pinned_version(on_path, program):
        return Found(Path(on_path), Origin.PATH)
    if _is_program(cached := cache_path(program)):
        return Found(cached, Origin.CACHE)
    return None


def cache_path(program: catalogue.Program) -> Path:
    """Tell where the cache keeps a program."""
    return cache_root() / f"{program.module}-{program.version}" / program.name


def cache_root() -> Path:
    """Tell where built programs are kept, once per machine and version."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "levelset", "bin").absolute()


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


@functools.cache
def _is_pinned_version(path: str, program: catalogue.Program) -> bool:
    try:
        answer = subprocess.run(
            [path, *program.version_arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    found = _VERSION.search(answer.stdout + answer.stderr)
    return found is not None and f"v{found[1]}" == program.version
