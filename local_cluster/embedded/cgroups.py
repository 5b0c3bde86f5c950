"""The cgroups of one embedded cluster, on a machine with cgroup v1 or v2.

All containers are below one cgroup named after the cluster, so that their processes are found
there whatever became of the programs that started them.
"""

import contextlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local_cluster.embedded.place import Place
from local_cluster.errors import ClusterError

_ROOT = Path("/sys/fs/cgroup")
_GONE_SECONDS = 10
_WANTED_CONTROLLERS = ("cpuset", "cpu", "io", "memory", "hugetlb", "pids")


@dataclass(frozen=True, slots=True)
class Hierarchies:
    """Where cgroups are on this machine."""

    is_v2: bool
    mounts: tuple[Path, ...]
    """Where a node's cgroup has to be made."""
    all_mounts: tuple[Path, ...]
    """Where one may turn up: beside v1, runc uses a v2 hierarchy without controllers as well."""

    @classmethod
    def look(cls) -> "Hierarchies":
        """Read the mounts of this process."""
        return cls.parse(Path("/proc/self/mountinfo").read_text())

    @classmethod
    def parse(cls, mount_info: str) -> "Hierarchies":
        """Find the cgroup mounts in the text of a mountinfo file."""
        found: list[tuple[str, Path]] = []
        for line in mount_info.splitlines():
            before, _, after = line.partition(" - ")
            found.append((after.split()[0], Path(before.split()[4])))
        is_v2 = ("cgroup2", _ROOT) in found
        kind = "cgroup2" if is_v2 else "cgroup"
        return cls(
            is_v2=is_v2,
            mounts=tuple(path for each, path in found if each == kind),
            all_mounts=tuple(path for each, path in found if each in {"cgroup", "cgroup2"}),
        )


def make(place: Place, node: int) -> str:
    """Make a node's cgroup in every hierarchy and return its name, as the kubelet wants it."""
    hierarchies = Hierarchies.look()
    if not hierarchies.mounts:
        raise ClusterError(f"no cgroups below {_ROOT}: real nodes need them; try --nodes 0")
    for mount in hierarchies.mounts:
        for path in (mount / place.cgroup, mount / place.cgroup / f"node{node}"):
            if hierarchies.is_v2:
                _pass_controllers_down(path.parent)
            path.mkdir(exist_ok=True)
            if not hierarchies.is_v2:
                _copy_cpus_down(path)
    return f"/{place.cgroup}/node{node}"


def processes(place: Place) -> set[int]:
    """List the processes that are in the cluster's containers."""
    found: set[int] = set()
    for directory in _directories(place):
        with contextlib.suppress(OSError):  # a container that ends at this moment
            found.update(int(pid) for pid in (directory / "cgroup.procs").read_text().split())
    return found


def remove(place: Place) -> None:
    """Remove the cluster's cgroups, deepest first; the kernel needs a moment after the last exit."""
    deadline = time.monotonic() + _GONE_SECONDS
    while directories := _directories(place):
        for directory in directories:
            with contextlib.suppress(OSError):
                directory.rmdir()
        if time.monotonic() > deadline:
            raise ClusterError(f"{directories[0]} does not go away: a process is still in it")


def exist(place: Place) -> bool:
    """Tell whether any cgroup of the cluster is there."""
    return bool(_directories(place))


def _directories(place: Place) -> list[Path]:
    return [
        each for mount in Hierarchies.look().all_mounts for each in _below(mount / place.cgroup)
    ]


def _below(directory: Path) -> Iterator[Path]:
    """The folder and all below it, deepest first."""
    with contextlib.suppress(OSError):
        for child in sorted(directory.iterdir()):
            if child.is_dir():
                yield from _below(child)
        yield directory


def _copy_cpus_down(path: Path) -> None:
    for name in ("cpuset.cpus", "cpuset.mems"):  # empty in a new cgroup: nothing could run there
        if (path / name).exists():
            shutil.copyfile(path.parent / name, path / name)


def _pass_controllers_down(parent: Path) -> None:
    available = (parent / "cgroup.controllers").read_text().split()
    for controller in _WANTED_CONTROLLERS:
        if controller in available:
            with contextlib.suppress(OSError):  # the kubelet names the one that it misses
                (parent / "cgroup.subtree_control").write_text(f"+{controller}")
