"""What of this machine a cluster could leave changed, taken before and after to be compared."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_OTHER_CLUSTERS = re.compile(r"lvl?[0-9a-f]{6}(n\d+)?")  # of tests or people beside this one

# What a node's programs make in /run; services of other tests may come and go there.
_NODES_WRITE_TO = frozenset({"containerd", "mount", "netns", "runc", "xtables.lock"})


@dataclass(frozen=True)
class Machine:
    """Everything that has to be the same after `down`."""

    mounts: frozenset[str]
    links: frozenset[str]
    routes: frozenset[str]
    firewall: str
    cgroups: frozenset[str]
    namespaces: frozenset[str]
    run: frozenset[str]

    @classmethod
    def look(cls) -> "Machine":
        return cls(
            mounts=frozenset(_lines("findmnt", "--noheadings", "--raw", "--output=TARGET,FSTYPE")),
            links=frozenset(_without_other_clusters(_lines("ip", "-br", "link"))),
            routes=frozenset(_without_other_clusters(_lines("ip", "route"))),
            firewall="\n".join(_rules()),
            cgroups=frozenset(_cgroups()),
            namespaces=frozenset(_names("/run/netns")),
            run=_NODES_WRITE_TO.intersection(_names("/run")),
        )


def processes_of(directory: Path) -> list[str]:
    """Every process that has to do with a cluster's folder, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if str(directory).encode() in words and state != "Z":
            found.append(words.split(b"\0")[0].decode())
    return found


def _lines(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    return done.stdout.splitlines()


def _without_other_clusters(lines: list[str]) -> list[str]:
    return [line for line in lines if not _OTHER_CLUSTERS.search(line)]


def _rules() -> list[str]:
    lines = _lines("iptables-save")
    return [line for line in lines if not line.startswith(("#", ":"))]


def _cgroups() -> list[str]:
    # Cgroups of other clusters may come and go; ours is looked for by its name.
    found = Path("/sys/fs/cgroup").rglob("kubepods*")
    return [str(path) for path in found if "levelset-" not in str(path)]


def _names(folder: str) -> list[str]:
    return [each.name for each in Path(folder).iterdir()] if Path(folder).is_dir() else []
