"""Takes away all that belongs to one embedded cluster, however far `up` had come.

Processes are known by the marker in their environment, by their cgroup, or by a recorded pid with
its start time. Mounts, namespaces and inner links end with their last process.
"""

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local_cluster.embedded import cgroups, network
from local_cluster.embedded.place import MARKER_VARIABLE, Place
from local_cluster.errors import ClusterError
from local_cluster.process import Identity

_KILL_SECONDS = 20
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Traces:
    """What of a cluster is on this machine now."""

    processes: tuple[Identity, ...]
    links: tuple[str, ...]
    has_cgroups: bool
    has_folder: bool

    @classmethod
    def look(cls, place: Place) -> "Traces":
        """Look for everything that carries the cluster's name."""
        return cls(
            processes=tuple(processes_of(place)),
            links=tuple(network.links_of(place)) if shutil.which("ip") else (),
            has_cgroups=cgroups.exist(place),
            has_folder=os.path.lexists(place.directory),
        )

    def __bool__(self) -> bool:
        return bool(self.processes or self.links or self.has_cgroups or self.has_folder)


def remove(place: Place) -> None:
    """Remove the cluster; safe to repeat, and without a word if there is none."""
    _refuse_what_is_no_folder(place.directory)
    _kill_all(place)
    if shutil.which("ip"):
        network.remove(place)
    cgroups.remove(place)
    _unmount_all(place)
    if place.directory.exists():
        shutil.rmtree(place.directory)


def _refuse_what_is_no_folder(directory: Path) -> None:
    """`up` makes folders; what else stands in its place is somebody's, and so is what a link names."""
    if os.path.lexists(directory) and (directory.is_symlink() or not directory.is_dir()):
        raise ClusterError(
            f"{directory}: expected the cluster's folder, found a link or a file that is not ours;"
            " look at it, and remove it by hand"
        )


def processes_of(place: Place) -> Iterator[Identity]:
    """Find the processes of a cluster, ourselves left out."""
    recorded = {each for each in place.programs().values() if each.is_alive()}
    pids = {*_marked(place), *cgroups.processes(place)} - {os.getpid()}
    found = {each for pid in pids if (each := Identity.of(pid)) is not None}
    yield from found | recorded


def _kill_all(place: Place) -> None:
    # At once and the hard way: nothing of the cluster is kept, and who is killed starts nobody.
    deadline = time.monotonic() + _KILL_SECONDS
    while left := list(processes_of(place)):
        for identity in left:
            identity.send(signal.SIGKILL)
        if time.monotonic() > deadline:
            raise ClusterError(f"process {left[0].pid} of cluster {place.name} cannot be killed")
        time.sleep(_POLL_SECONDS)


def _marked(place: Place) -> Iterator[int]:
    marker = f"{MARKER_VARIABLE}={place.directory}".encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # ended meanwhile, or somebody else's
                if marker in (entry / "environ").read_bytes().split(b"\0"):
                    yield int(entry.name)


def _unmount_all(place: Place) -> None:
    """Nothing is mounted here unless a namespace could not be made; never delete through a mount."""
    for mount in sorted(_mounts_below(place.directory), reverse=True):
        network.run("umount", "--lazy", str(mount))
    if left := list(_mounts_below(place.directory)):
        raise ClusterError(f"{left[0]} is still mounted: unmount it and try again")


def _mounts_below(directory: Path) -> Iterator[Path]:
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        path = Path(line.split()[4].encode().decode("unicode_escape"))
        if path.is_relative_to(directory):
            yield path
