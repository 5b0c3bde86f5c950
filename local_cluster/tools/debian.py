"""The Debian packages that real nodes and the services are made of.

Installed only as root and after they have been named; no service is started by it.
"""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from local_cluster.errors import ClusterError

NODE_PACKAGES = (
    "containerd",
    "runc",
    "containernetworking-plugins",
    "iptables",
    "iproute2",
    "procps",
    "busybox-static",
)
SERVICE_PACKAGES = ("git", "docker-registry", "prometheus", "openssh-server", "openssh-client")
_SERVICES = ("containerd", "docker-registry", "prometheus", "prometheus-node-exporter", "ssh")
_POLICY = Path("/usr/sbin/policy-rc.d")
_INSTALL_SECONDS = 1200


class PackagesMissing(ClusterError):  # noqa: N818 - reads as what happened
    """Packages could not be installed; the message says how to get them."""

    reason = "PackagesMissing"


def missing(packages: Sequence[str]) -> list[str]:
    """List those that are not installed; empty where there is no dpkg to ask."""
    if shutil.which("dpkg-query") is None:
        return []
    answer = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n", *packages],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    installed = {
        line.split()[0] for line in answer.stdout.splitlines() if line.endswith(" installed")
    }
    return [package for package in packages if package not in installed]


def advice(packages: Sequence[str]) -> str:
    """Tell a person how to get packages."""
    return f"apt-get install --no-install-recommends {' '.join(packages)}"


def install(packages: Sequence[str], report: Callable[[str], None]) -> None:
    """Install packages; the package lists are fetched only if a package is not in them."""
    report(f"installing Debian packages: {' '.join(packages)}")
    with _no_service_starts():
        first = _apt("install", "--no-install-recommends", *packages)
        if first.returncode:
            report("fetching the package lists")
            _apt("update")
            again = _apt("install", "--no-install-recommends", *packages)
            if again.returncode:
                raise PackagesMissing(f"{_last_line(again)}; try `{advice(packages)}`")
    _disable_services(packages)


def _apt(verb: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["apt-get", verb, "--yes", "-o", "DPkg::Lock::Timeout=120", *arguments],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_INSTALL_SECONDS,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
    except FileNotFoundError:
        raise PackagesMissing("there is no apt-get here; install them by other means") from None
    except subprocess.TimeoutExpired:
        raise PackagesMissing(f"apt-get {verb} did not end within {_INSTALL_SECONDS} s") from None


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in done.stderr.splitlines() if line.startswith("E:")]
    return lines[-1] if lines else f"apt-get ended with {done.returncode}"


@contextlib.contextmanager
def _no_service_starts() -> Iterator[None]:
    """Debian asks this file whether a package may start its service; ours goes again."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()


def _disable_services(packages: Sequence[str]) -> None:
    """Keep what has just been installed from starting at the next boot."""
    if not Path("/run/systemd/system").is_dir():
        return
    new = [each for each in _SERVICES if any(package.startswith(each) for package in packages)]
    if new:
        subprocess.run(["systemctl", "disable", *new], check=False, capture_output=True, timeout=60)
