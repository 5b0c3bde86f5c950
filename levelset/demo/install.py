"""Step: programs, Debian packages; and the manifests that the chart will ship."""

import asyncio
import json
import threading
from collections.abc import Sequence

from kube_runtime.resource import Json
from levelset.commands import tools
from levelset.demo import accounts, application
from levelset.demo.errors import DemoFailedError
from levelset.demo.narrator import Step
from levelset.demo.stage import DEPLOY, SYSTEM_NAMESPACE, Options
from local_cluster.kubectl import Kubectl
from local_cluster.services import running
from local_cluster.tools.install import Purpose

_SERVICES = {"git": "git", "docker-registry": "docker-registry", "prometheus": "prometheus"}
METRICS_READER = "levelset-metrics-reader"


async def install(options: Options, step: Step) -> None:
    """Install what the demo needs and this machine lacks."""
    cancel = threading.Event()
    try:
        got = await asyncio.to_thread(
            tools.install, Purpose.DEMO, with_apt=options.install_packages, cancel=cancel
        )
    finally:
        cancel.set()  # on SIGTERM the thread goes on until it is told
    step.note("built or installed what was missing" if got else "everything is here")
    for program, package in _SERVICES.items():
        running.find_program(program, package=package)  # before anything is started
    step.summary = "everything is here"


def apply_manifests(kubectl: Kubectl, step: Step) -> None:
    """Apply CRDs, namespaces, ServiceAccounts, RBAC and the webhook configuration."""
    folders = [DEPLOY / "crds", DEPLOY / "chart" / "rbac", DEPLOY / "webhooks"]
    for folder in folders:
        if not folder.is_dir():
            raise DemoFailedError(f"{folder} is missing: run the demo from a checkout")
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM_NAMESPACE}},
        application.staging_namespace(),
    ]
    apply(kubectl, namespaces)
    kubectl("apply", "--server-side", "-f", folders[0], "-f", folders[1])
    apply(kubectl, accounts.scraper_manifests(METRICS_READER))
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    kubectl("apply", "--server-side", "-f", folders[2])
    kinds = kubectl("api-resources", "--api-group=levelset.dev", "-o", "name").stdout.split()
    step.fact("kinds", ", ".join(sorted(kinds)))


def apply(kubectl: Kubectl, objects: Sequence[Json]) -> None:
    """Apply objects as kubectl does."""
    document = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=document)
