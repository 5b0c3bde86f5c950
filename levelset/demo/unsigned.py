"""Step: the unsigned image is stopped twice, before the sync and at the API server, and nothing that runs is touched."""

from kube_runtime.api import ApiClient
from levelset.demo import application, first_push, waiting, workload
from levelset.demo.errors import require
from levelset.demo.image import Images
from levelset.demo.narrator import Step
from levelset.demo.repository import Repository
from levelset.demo.stage import NAMESPACE
from local_cluster.kubectl import Kubectl

_TIMEOUT_SECONDS = 60.0


async def play(
    api: ApiClient, kubectl: Kubectl, repository: Repository, images: Images, step: Step
) -> None:
    """Push the unsigned digest, look at the refusals, and go back to the signed one."""
    before = await workload.uids(api)
    repository.set_image(images.name, images.unsigned)
    pushed = await repository.push("Run v3, which nobody has signed")
    message = await _refusal(api, pushed.commit)
    step.note("the sync stopped before anything was applied:")
    step.quote(message)
    require(
        application.POLICY in message and images.unsigned in message,
        f"the refusal must name policy {application.POLICY} and digest {images.unsigned}",
    )
    require(await workload.uids(api) == before, "the running pods were touched by a refused sync")
    step.fact("running pods", f"{len(before)}, the same UIDs as before")
    _try_by_hand(kubectl, images, step)
    await _go_back(api, repository, images, step)
    step.summary = "sync stopped with policy and digest named, pods untouched, kubectl run refused"


async def _refusal(api: ApiClient, commit: str) -> str:
    """Wait until the Application says that it could not sync this commit; return its words."""

    async def look() -> str:
        status = await application.read_status(api)
        operation = status.get("operationState", {})
        has_failed = operation.get("phase") in {"Failed", "Error"}
        return (
            ""
            if has_failed and operation.get("revision") == commit
            else application.explain(status)
        )

    await waiting.until("the refusal of the sync", look, timeout_seconds=_TIMEOUT_SECONDS)
    message: str = (await application.read_status(api))["operationState"]["message"]
    return message


def _try_by_hand(kubectl: Kubectl, images: Images, step: Step) -> None:
    reference = images.reference(images.unsigned)
    step.note(f"kubectl run evil --image={reference}")
    done = kubectl("run", "evil", "-n", NAMESPACE, f"--image={reference}", check=False)
    step.quote(done.stderr)
    require(done.returncode != 0, "kubectl run of the unsigned image was not refused")
    require(
        application.POLICY in done.stderr and images.unsigned in done.stderr,
        "the API server's refusal must name the policy and the digest",
    )


async def _go_back(api: ApiClient, repository: Repository, images: Images, step: Step) -> None:
    repository.set_image(images.name, images.second)
    pushed = await repository.push("Go back to v2")
    seconds = await first_push.settle(api, pushed.commit, images.second)
    step.fact("back to v2 by another push", f"Synced after {seconds:.1f} s")
