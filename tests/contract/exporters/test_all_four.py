"""A real Prometheus scrapes all four controllers as they run, and has their counters and histograms."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from local_cluster.kubectl import Kubectl
from local_cluster.ports import free_ports
from local_cluster.services import running
from local_cluster.services.prometheus import Prometheus, ScrapeJob
from tests.contract.exporters.support import eventually

pytestmark = pytest.mark.contract

ROOT = Path(__file__).parents[3]
PARTS = ("workloads", "gitops_agent", "supply_chain", "exporters")
OBJECTS = """
apiVersion: levelset.dev/v1alpha1
kind: PodSet
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.k8s.io/pause:3.10"}]}
---
apiVersion: levelset.dev/v1alpha1
kind: Application
metadata: {name: shop}
spec:
  source: {repoURL: "https://127.0.0.1:1/shop.git", path: staging}
  destination: {namespace: shop}
---
apiVersion: levelset.dev/v1alpha1
kind: ImagePolicy
metadata: {name: only-ours}
spec:
  images: [{glob: "**"}]
  authorities: [{name: team, key: {secretRef: {name: team-key}}, transparencyLog: Ignored}]
"""
# What each part has counted and timed by then, beside what every process has.
OWN = {
    "workloads": 'levelset_pod_creations_total{job="workloads"} >= 2',
    "gitops_agent": 'sum(levelset_gitops_git_requests_total{job="gitops_agent"}) > 0',
    "supply_chain": 'sum(levelset_image_policies{job="supply_chain"}) > 0',
    "exporters": 'sum(levelset_exporter_objects{job="exporters"}) >= 3',
}
RECONCILED = {
    "workloads": "podset",
    "gitops_agent": "applications",
    "supply_chain": "imagepolicy",
}


@pytest.fixture
def jobs(
    crds: None,
    kubeconfig: Path,
    namespace: str,
    tls_files: running.TlsFiles,
    scraper_token: str,
    tmp_path: Path,
) -> Iterator[list[ScrapeJob]]:
    """The four processes, as Prometheus finds them."""
    flags = {
        "workloads": [f"--watch-namespace={namespace}"],
        "gitops_agent": ["--webhook-host=127.0.0.1", "--webhook-port=0", f"--cache-dir={tmp_path}"],
        "supply_chain": ["--admission-host=127.0.0.1", "--admission-port=0"],
        "exporters": [],
    }
    token_file = tmp_path / "token"
    token_file.write_text(scraper_token)
    ports = dict(zip(PARTS, free_ports(len(PARTS)), strict=True))
    with ExitStack() as stack:
        for part, own in flags.items():
            log = stack.enter_context((tmp_path / f"{part}.log").open("wb"))
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    part,
                    f"--kubeconfig={kubeconfig}",
                    f"--namespace={namespace}",
                    "--metrics-host=127.0.0.1",
                    f"--metrics-port={ports[part]}",
                    f"--metrics-cert-file={tls_files.certificate}",
                    f"--metrics-key-file={tls_files.key}",
                    *own,
                ],
                cwd=ROOT,
                stderr=log,
            )
            stack.callback(process.wait, timeout=30)
            stack.callback(process.terminate)
        yield [
            ScrapeJob(
                name=part,
                targets=[f"127.0.0.1:{port}"],
                scheme="https",
                ca_file=tls_files.ca,
                server_name="127.0.0.1",
                bearer_token_file=token_file,
            )
            for part, port in ports.items()
        ]
    for part in PARTS:
        print((tmp_path / f"{part}.log").read_text())  # noqa: T201 - for a failure


async def test_prometheus_has_the_counters_and_histograms_of_all_four_controllers(
    jobs: list[ScrapeJob], kubectl: Kubectl, namespace: str, prometheus: Prometheus
) -> None:
    kubectl("apply", "-n", namespace, "-f", "-", stdin=OBJECTS)
    await prometheus.set_jobs(jobs)

    async def all_up() -> bool:
        return len(await prometheus.query("up == 1")) == len(PARTS)

    async def holds(query: str) -> None:
        async def answered() -> bool:
            return bool(await prometheus.query(query))

        await eventually(answered, query, seconds=60)

    await eventually(all_up, "all four to be scraped", seconds=60)
    async with asyncio.timeout(120):
        for query in OWN.values():
            await holds(query)
        for part, controller in RECONCILED.items():
            labels = f'{{job="{part}",controller="{controller}"}}'
            await holds(f"sum(controller_runtime_reconcile_total{labels}) > 0")
            await holds(f"sum(controller_runtime_reconcile_time_seconds_count{labels}) > 0")
        for part in PARTS:
            await holds(f'sum(rest_client_requests_total{{job="{part}"}}) > 0')
            buckets = f'rest_client_request_duration_seconds_bucket{{job="{part}"}}'
            await holds(f"histogram_quantile(0.99, sum by (le) ({buckets})) > 0")
            await holds(f'levelset_metrics_insecure{{job="{part}"}} == 0')
            process = f"levelset-{part.replace('_', '-')}"
            await holds(f'levelset_build_info{{job="{part}",process="{process}"}}')
