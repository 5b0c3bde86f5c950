"""The base error of the local cluster; every module here raises this or a child of it.

`levelset/__main__.py` prints `diagnostics()` as one line and exits with 1. Messages name the program, the file or
the port, what was expected and the next step.
"""

from kube_runtime.errors import LevelsetError


class LocalClusterError(LevelsetError):
    """Something on this machine is not as the local cluster needs it."""

    reason = "LocalCluster"
