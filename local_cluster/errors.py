"""The base error of the local cluster; every module here raises this or a child of it.

`levelset/__main__.py` prints `diagnostics()` as one line and exits with 1. Messages name the
program, the file or the port, what was expected and the next step.
"""

# ruff: noqa: N818 - `except MissingTool` reads as what happened

from pathlib import Path

from kube_runtime.errors import LevelsetError


class ClusterError(LevelsetError):
    """Something on this machine is not as the local cluster needs it."""

    reason = "LocalCluster"


class MissingTool(ClusterError):
    """A program is neither here nor can it be built."""

    reason = "MissingTool"


class ProgramFailed(ClusterError):
    """A program ended or did not become ready; its last words are in the message."""

    reason = "ProgramFailed"

    def __init__(self, what: str, log: Path, *, last_lines: str = "") -> None:
        tail = f"; its last lines: {last_lines}" if last_lines else ""
        super().__init__(f"{what} (log {log}){tail}")
