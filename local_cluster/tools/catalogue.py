"""Which programs there are, in which pinned module each lives, and how it tells its version."""

import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from local_cluster.errors import MissingTool

MODULES = Path(__file__).parent
_REQUIRE = re.compile(
    r"^(?:require\s+|\t)(?P<module>\S+) (?P<version>v\S+)(?! // indirect)$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Program:
    """One program of a pinned module."""

    name: str
    module: str
    """The folder below tools/ whose go.mod pins it."""
    package: str
    """What `go build` is given."""
    version_arguments: tuple[str, ...] = ("--version",)
    version_variable: str = ""
    """The linker variable that holds the version, where the program has one."""
    seconds: int = 60
    """A cold build on two cores, measured; only the estimate of a first run rests on it."""

    @property
    def directory(self) -> Path:
        """The folder of the pinned module."""
        return MODULES / self.module

    @property
    def version(self) -> str:
        """The pinned version, from go.mod; for a module of our own it is made of its source."""
        return _pinned(self.directory / "go.mod", self.package) or _own_version(self.directory)

    @property
    def linker_flags(self) -> str:
        """What is set at link time: no symbols, and the version where it is asked for."""
        flags = "-s -w"
        if self.version_variable:
            flags += f" -X {self.version_variable}.gitVersion={self.version}"
        if self.module == "kubernetes":
            major, minor, _ = self.version.lstrip("v").split(".", 2)
            flags += f" -X {self.version_variable}.gitMajor={major}"
            flags += f" -X {self.version_variable}.gitMinor={minor}"
        return flags


def _kubernetes(name: str, seconds: int, *version_arguments: str) -> Program:
    return Program(
        name,
        "kubernetes",
        f"k8s.io/kubernetes/cmd/{name}",
        version_arguments or ("--version",),
        "k8s.io/component-base/version",
        seconds,
    )


_ALL = (
    _kubernetes("kube-apiserver", 330),
    _kubernetes("kube-controller-manager", 100),
    _kubernetes("kube-scheduler", 11),
    _kubernetes("kubelet", 30),
    _kubernetes("kube-proxy", 12),
    _kubernetes("kubectl", 25, "version", "--client"),
    Program("etcd", "etcd", "go.etcd.io/etcd/server/v3", seconds=60),
    Program("coredns", "coredns", "github.com/coredns/coredns", ("-version",), seconds=195),
    Program("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", seconds=70),
    Program(
        "kustomize", "kustomize", "sigs.k8s.io/kustomize/kustomize/v5", ("version",), seconds=15
    ),
    Program(
        "cosign",
        "cosign",
        "github.com/sigstore/cosign/v3/cmd/cosign",
        ("version",),
        "sigs.k8s.io/release-utils/version",
        seconds=250,
    ),
    Program("pause", "pause", "levelset.dev/tools/pause", seconds=2),
    Program("web", "web", "levelset.dev/tools/web", seconds=2),
)
PROGRAMS = {each.name: each for each in _ALL}


def program(name: str) -> Program:
    """Look a program up by its name."""
    try:
        return PROGRAMS[name]
    except KeyError:
        known = ", ".join(sorted(PROGRAMS))
        raise MissingTool(f"{name}: not one of the pinned programs ({known})") from None


@functools.cache
def _pinned(go_mod: Path, package: str) -> str | None:
    for found in _REQUIRE.finditer(go_mod.read_text()):
        module = found["module"]
        if package == module or package.startswith(f"{module}/"):
            return found["version"]
    return None


@functools.cache
def _own_version(directory: Path) -> str:
    content = hashlib.sha256()
    for file in sorted(each for each in directory.rglob("*") if each.is_file()):
        content.update(file.read_bytes())
    return f"own-{content.hexdigest()[:8]}"
