"""Makes the Job of a step, once, and says how it stands. The edge; judged in plan/steps.py.

The name is that of revision and step, so it may be asked for again and again. A Job belongs to the
PodSet of its revision and goes with it.
"""

from dataclasses import dataclass
from typing import Final

from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.errors import AlreadyExists, BadRequest, Forbidden, Invalid, NotFound
from kube_runtime.ownership import owner_reference_to
from kube_runtime.resource import Json, controller_uid_of
from workloads import names
from workloads.podset.resources import PodSet
from workloads.rollout.evidence import JobOutcome, JobState
from workloads.rollout.plan.steps import HookJob
from workloads.writes import is_namespace_terminating, until_known

_RUNNING: Final = JobOutcome(JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class HookJobs:
    """Looks after the Jobs of all Rollouts of the process."""

    api: ApiClient
    clock: Clock

    async def outcome(self, job: HookJob) -> JobOutcome:
        """Find the Job or make it, and say how it stands; one that is refused has failed."""
        namespace = job.podset.key.namespace
        try:
            found = await self.api.get(names.JOBS, job.name, namespace=namespace)
        except NotFound:
            return await self._make(job)
        if controller_uid_of(found) != job.podset.uid:
            return JobOutcome(
                JobState.FAILED, f"Job {job.name} belongs to somebody else: delete it"
            )
        return outcome_of(found)

    async def _make(self, job: HookJob) -> JobOutcome:
        try:
            await until_known(
                lambda: self.api.create(
                    names.JOBS, job_body(job), field_manager=names.FIELD_MANAGER
                ),
                self.clock,
            )
        except AlreadyExists:
            return _RUNNING  # the next look finds it
        except (BadRequest, Forbidden, Invalid) as error:
            if is_namespace_terminating(error):
                raise
            return JobOutcome(JobState.FAILED, f"Job {job.name} was refused: {error}")
        return _RUNNING


def job_body(job: HookJob) -> Json:
    """Build the Job to create."""
    template = job.step.template
    metadata: Json = template.get("metadata") or {}
    spec: Json = template["spec"]
    return {
        "apiVersion": names.JOBS.api_version,
        "kind": names.JOBS.kind,
        "metadata": {
            **{field: metadata[field] for field in ("labels", "annotations") if field in metadata},
            "name": job.name,
            "namespace": job.podset.key.namespace,
            "ownerReferences": [owner_reference_to(_as_owner(job.podset), names.PODSETS)],
        },
        "spec": {"activeDeadlineSeconds": job.step.timeout_seconds, **spec},
    }


def outcome_of(job: Json) -> JobOutcome:
    """Read how a Job stands; only its conditions tell."""
    for condition in (job.get("status") or {}).get("conditions") or ():
        if condition.get("status") != "True":
            continue
        if condition.get("type") == "Complete":
            return JobOutcome(JobState.SUCCEEDED)
        if condition.get("type") == "Failed":
            name, reason = job["metadata"]["name"], condition.get("reason", "Failed")
            return JobOutcome(
                JobState.FAILED, f"Job {name}: {reason}: {condition.get('message', '')}"
            )
    return _RUNNING


def _as_owner(podset: PodSet) -> Json:
    return {"metadata": {"name": podset.key.name, "uid": podset.uid}}
