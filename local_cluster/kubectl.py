"""Runs the real kubectl, for setting a cluster up and for tests.

Controllers never use it; they have `kube_runtime`.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from local_cluster import tools
from local_cluster.errors import ClusterError


class KubectlFailed(ClusterError):  # noqa: N818 - reads as what happened
    """kubectl answered with an error; the message is its own."""

    reason = "KubectlFailed"


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl for one cluster, callable with its arguments."""

    kubeconfig: Path
    prefix: tuple[str, ...] = ()

    def __call__(
        self,
        *arguments: str | Path,
        stdin: str | None = None,
        timeout_seconds: float = 30.0,
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run it and return what it said; KubectlFailed on an error unless `check` is off."""
        command = [*self.prefix, str(tools.find("kubectl")), *map(str, arguments)]
        shown = " ".join(["kubectl", *map(str, arguments)])[:200]
        try:
            done = subprocess.run(
                command,
                input=stdin,
                capture_output=True,
                text=True,
                timeout=timeout_seconds,
                check=False,
                env=self._environment(),
            )
        except subprocess.TimeoutExpired:
            raise KubectlFailed(f"{shown}: no answer within {timeout_seconds:.0f} s") from None
        if check and done.returncode:
            raise KubectlFailed(f"{shown}: {done.stderr.strip() or done.stdout.strip()}")
        return done

    def _environment(self) -> dict[str, str]:
        # The cache beside the kubeconfig: ports are reused, and what the last cluster on this one
        # served is no help. For ~/.kube/config this is kubectl's own default.
        cache = self.kubeconfig.parent / "cache"
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(cache)}
