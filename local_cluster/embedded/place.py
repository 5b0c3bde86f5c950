"""Where one embedded cluster lives, and the names of all that it makes on this machine.

Every name is derived from the state folder's path: a cluster that was interrupted at any moment
can be found and removed without having recorded anything before it was made, even if its
folder is gone.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from local_cluster.errors import ClusterError
from local_cluster.process import Identity, Program
from local_cluster.provider import BadPlan

MARKER_VARIABLE = "LEVELSET_CLUSTER"
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Shape:
    """What `up` decided, for the commands that come later."""

    nodes: int
    simulated_nodes: int
    network: int | None
    """Which /24 of 198.18.0.0/15 it has; None: on loopback."""
    server: str = ""
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """One cluster's folder and everything named after it."""

    name: str
    directory: Path

    @classmethod
    def of(cls, name: str, clusters: Path | None = None) -> "Place":
        """Find the place of a cluster's name, by default below XDG_STATE_HOME."""
        if not _NAME.fullmatch(name):
            raise BadPlan(
                f"cluster name {name!r}: expected up to 40 of a-z, 0-9 and -, such as levelset"
            )
        return cls(name, (clusters or clusters_directory()).resolve() / name)

    @property
    def short(self) -> str:
        """Six characters that tell this cluster from every other on this machine."""
        return hashlib.sha256(str(self.directory).encode()).hexdigest()[:6]

    @property
    def marker(self) -> dict[str, str]:
        """The environment by which every program of the cluster is known."""
        return {MARKER_VARIABLE: str(self.directory)}

    @property
    def bridge(self) -> str:
        """The bridge that joins the nodes; a link's name has at most 15 characters."""
        return f"lvl{self.short}"

    def link(self, node: int) -> str:
        """The host's end of a node's cable."""
        return f"lv{self.short}n{node}"

    @property
    def cgroup(self) -> str:
        """The cgroup below which all containers are."""
        return f"levelset-{self.short}"

    def node_directory(self, node: int) -> Path:
        """What a node keeps."""
        return self.directory / f"node{node}"

    @property
    def registries(self) -> Path:
        """Containerd's folder of registries that are reached otherwise than by https."""
        return self.directory / "registries"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.directory / "control-plane" / "admin.kubeconfig"

    # ---- what is written down ----

    def save(self, shape: Shape) -> None:
        """Write the shape down, all of it or nothing."""
        temporary = self.directory / ".shape.new"
        temporary.write_text(json.dumps(asdict(shape)))
        temporary.replace(self.directory / "shape.json")

    def shape(self) -> Shape | None:
        """Read the shape; None if `up` never came so far."""
        try:
            return Shape(**json.loads((self.directory / "shape.json").read_text()))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError):
            return None  # as good as none: the cluster is half-made

    def note(self, program: Program) -> None:
        """Write down a program that runs, for `status`."""
        line = json.dumps([program.name, program.identity.pid, program.identity.started])
        with (self.directory / "programs").open("a") as file:
            file.write(f"{line}\n")

    def programs(self) -> dict[str, Identity]:
        """Read the programs that were started."""
        try:
            lines = (self.directory / "programs").read_text().splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        found: dict[str, Identity] = {}
        for line in lines:
            with contextlib.suppress(ValueError):  # the last line may be half-written
                name, pid, started = json.loads(line)
                found[name] = Identity(pid, started)
        return found

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the cluster against a second `up` or `down`; fails at once if it is held."""
        parent = self.directory.parent
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(parent / f".{self.name}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ClusterError(
                    f"cluster {self.name}: another `levelset cluster` works on it; wait for it"
                ) from None
            yield
        finally:
            os.close(descriptor)


def clusters_directory() -> Path:
    """The folder of all clusters' folders, below XDG_STATE_HOME."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base, "levelset", "clusters")
