"""Step: the first push; the webhook triggers the sync, pods run, the Service answers over kube-proxy."""

import time
from dataclasses import dataclass

from kube_runtime.api import ApiClient
from kube_runtime.resource import SERVICES
from levelset.demo import application, traffic, waiting, workload
from levelset.demo.image import Images
from levelset.demo.narrator import Step
from levelset.demo.repository import Repository
from levelset.demo.stage import NAMESPACE

_TIMEOUT_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Running:
    """The first version runs at this address of the Service."""

    service_url: str


async def play(api: ApiClient, repository: Repository, images: Images, step: Step) -> Running:
    """Push v1 and wait until it is Synced, Healthy and ready."""
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
    return Running(service_url=f"http://{service['spec']['clusterIP']}/")


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


def answers(requests: list[traffic.Request]) -> str:
    """Say who answered, from how many requests."""
    failed = sum(bool(r.error) for r in requests)
    return f"{len(requests)} requests, {failed} failed"
