"""The provider for a cluster that is there already: whatever KUBECONFIG points to.

It makes nothing and removes nothing; `up` and `status` only make sure that the cluster answers.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

from local_cluster import kubectl
from local_cluster.errors import ClusterError
from local_cluster.provider import Cluster, ClusterPlan, Report, Status


@dataclass(frozen=True, slots=True)
class ExistingProvider:
    """Uses the cluster of a kubeconfig."""

    file: str | None = None
    """Default: $KUBECONFIG, then ~/.kube/config."""
    context: str | None = None

    def up(self, plan: ClusterPlan, report: Report) -> Cluster:
        """Make sure that the cluster answers."""
        run, arguments = self._kubectl()
        run(*arguments, "get", "--raw", "/readyz", timeout_seconds=10)
        view = run(*arguments, "config", "view", "--minify", "-o", "json").stdout
        server = str(json.loads(view)["clusters"][0]["cluster"]["server"])
        report(f"using the cluster at {server}")
        return Cluster(plan.name, run.kubeconfig, server, host_address="")

    def down(self, name: str, report: Report) -> None:  # noqa: ARG002 - the protocol's
        """Leave the cluster alone: it is not ours."""
        report("an existing cluster is not ours to take down; nothing was changed")

    def status(self, name: str) -> Status:
        """Tell whether the cluster answers."""
        try:
            cluster = self.up(ClusterPlan(name=name), lambda _: None)
        except ClusterError as error:
            return Status(name, "existing", "absent", (error.diagnostics(),))
        return Status(name, "existing", "up", (f"server {cluster.server}",), cluster)

    def load_image(self, name: str, image: Path, report: Report) -> None:
        """Refuse: there is no way to all nodes of a foreign cluster but a registry."""
        del name, report
        raise ClusterError(f"{image}: push it to a registry that the existing cluster can reach")

    def kubeconfig(self, name: str) -> Path:
        """Tell which file is used."""
        del name
        chosen = self.file or os.environ.get("KUBECONFIG") or "~/.kube/config"
        path = Path(chosen.split(os.pathsep)[0]).expanduser()
        if not path.is_file():
            raise ClusterError(
                f"{path}: no such kubeconfig; set KUBECONFIG or `levelset cluster up` makes a cluster"
            )
        return path

    def _kubectl(self) -> tuple[kubectl.Kubectl, list[str]]:
        context = [f"--context={self.context}"] if self.context else []
        return kubectl.Kubectl(self.kubeconfig("")), context
