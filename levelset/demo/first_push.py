"""Step: the first push; the webhook triggers the sync, pods run, the Service answers over kube-proxy."""

import time

from kube_runtime.api import ApiClient
from kube_runtime.resource import SERVICES
from levelset.demo import application, client, waiting, workload
from levelset.demo.image import Images
from levelset.demo.narrator import Step
from levelset.demo.repository import Repository
from levelset.demo.stage import NAMESPACE, Stage
from local_cluster.provider import Cluster

_TIMEOUT_SECONDS = 90.0


async def play(api: ApiClient, repository: Repository, images: Images, step: Step) -> str:
    """Push v1, wait until it is Synced, Healthy and ready, and return the URL of its Service."""
    repository.set_image(images.name, images.first)
    began = time.monotonic()
    pushed = await repository.push("Run v1 in staging")
    step.fact("pushed", f"{pushed.commit[:12]} to main")
    step.quote(pushed.remote_said)
    await waiting.until(
        "the first pod",
        lambda: _missing_first_pod(api),
        timeout_seconds=_TIMEOUT_SECONDS,
    )
    step.fact("first pod created", f"{time.monotonic() - began:.2f} s after the push began")
    await settle(api, pushed.commit, images.first)
    seconds = time.monotonic() - began
    step.fact("Synced, Healthy, all pods ready", f"{seconds:.1f} s after the push began")
    service = await api.get(SERVICES, "web", namespace=NAMESPACE)
    step.summary = f"from push to {workload.REPLICAS} ready pods in {seconds:.1f} s"
    return f"http://{service['spec']['clusterIP']}/"


async def ask_the_service(stage: Stage, cluster: Cluster, url: str, step: Step) -> None:
    """Make sure that every pod answers through the Service's address, that is, through kube-proxy."""
    if not cluster.commands:
        step.note("the nodes are simulated, so the Service has nobody to answer")
        return
    async with client.requesting(stage, cluster, url, "first-push") as requester:
        seconds = await requester.hears_pods(workload.REPLICAS)
    step.fact("Service", f"{url} answered by all {workload.REPLICAS} pods within {seconds:.1f} s")


async def settle(
    api: ApiClient, commit: str, digest: str, *, timeout_seconds: float = _TIMEOUT_SECONDS
) -> float:
    """Wait until the Application has this commit and the pods run this digest; return the seconds."""

    async def look() -> str:
        missing = application.missing_for_sync(await application.read_status(api), commit)
        return missing or await workload.missing_for_level(api, digest)

    return await waiting.until(f"commit {commit[:12]}", look, timeout_seconds=timeout_seconds)


async def _missing_first_pod(api: ApiClient) -> str:
    if await workload.pods(api):
        return ""
    return application.explain(await application.read_status(api))
