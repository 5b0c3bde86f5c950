"""spec.steps: which one a revision is at, what it waits for, and how far the new pods may go.

A small machine over status.step. What only the world can tell, the answer of Prometheus and the
state of a Job, is passed in as evidence; `wanted` says which of it is needed. Pure.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from workloads import names, naming
from workloads.podset.resources import PodSet
from workloads.rollout import maths
from workloads.rollout.evidence import Evidence, JobOutcome, JobState
from workloads.rollout.fleet import Fleet
from workloads.rollout.pending import are_steps_pending, have_steps
from workloads.rollout.plan.gate import measured
from workloads.rollout.resources import Rollout
from workloads.rollout.revisions import is_new, revision_of
from workloads.rollout.standing import StepState, StepStatus
from workloads.rollout.steps import GateStep, JobStep, PauseStep, ReplicasStep, StepType, type_of

_SOONEST_JOB_LOOK_SECONDS: Final = 1.0
_LATEST_JOB_LOOK_SECONDS: Final = 15.0


@dataclass(frozen=True, slots=True)
class HookJob:
    """The Job of a step, to be found or made."""

    name: str
    podset: PodSet
    step: JobStep


def limit(rollout: Rollout, fleet: Fleet) -> int:
    """Tell how many pods the new revision may have at its step; before the first size, none."""
    name = fleet.new.key.name if fleet.new is not None else ""
    if not are_steps_pending(rollout, rollout.status, name):
        return rollout.replicas
    present = rollout.status.step
    index = present.index if present is not None and present.podset == name else 0
    sizes = [
        maths.part_of(step.replicas, rollout.replicas)
        for step in rollout.steps[: index + 1]
        if isinstance(step, ReplicasStep)
    ]
    return max(sizes, default=0)


def at_step(rollout: Rollout, step: StepStatus | None) -> Rollout:
    """Take the Rollout for one that is at this step."""
    return replace(rollout, status=replace(rollout.status, step=step))


def wanted(rollout: Rollout, fleet: Fleet, now: datetime) -> GateStep | HookJob | None:
    """Say what has to be asked for before the step can be judged; None when nothing is due."""
    step = _present(rollout, fleet, now)
    if step is None or fleet.new is None or rollout.is_deleting or rollout.is_paused:
        return None
    if _is_over(rollout, step) or step.state is StepState.FAILED:
        return None
    if _is_resumed(rollout, step):
        return None
    spec = rollout.steps[step.index]
    if isinstance(spec, JobStep):
        return HookJob(step.job or _job_name(rollout, fleet.new, step.index), fleet.new, spec)
    if isinstance(spec, GateStep) and _is_due(spec, step, now):
        return spec
    return None


def next_step(
    rollout: Rollout, fleet: Fleet, *, evidence: Evidence | None, now: datetime
) -> StepStatus | None:
    """Judge the present step: where the revision is now, and what it waits for."""
    step = _present(rollout, fleet, now)
    if step is None or rollout.is_paused or step.state is StepState.DONE:
        return step
    if _is_over(rollout, step):
        return _begun(rollout, step.podset, step.index, now)
    if not _is_resumed(rollout, step):
        if step.state is StepState.FAILED:
            return step
        judged = _judged(rollout, fleet, step, evidence, now)
        if judged is not None:
            return judged
    following = _begun(rollout, step.podset, step.index + 1, now)
    if _is_over(rollout, following):
        return following
    return _judged(rollout, fleet, following, None, now) or following


def seconds_to_next_look(rollout: Rollout, step: StepStatus | None, now: datetime) -> float | None:
    """Tell when the step is to be judged again, if nothing happens."""
    if step is None or rollout.is_paused or _is_over(rollout, step):
        return None
    since = (now - (step.since or now)).total_seconds()
    spec = rollout.steps[step.index]
    if isinstance(spec, PauseStep) and spec.seconds is not None:
        return max(0.0, spec.seconds - since) + 0.05
    if step.state is StepState.MEASURING and isinstance(spec, GateStep):
        after_last = (now - (step.measured_at or now)).total_seconds()
        return max(0.0, spec.interval_seconds - after_last) + 0.05
    if step.state is StepState.RUNNING:
        return min(max(since / 10, _SOONEST_JOB_LOOK_SECONDS), _LATEST_JOB_LOOK_SECONDS)
    return None


def _judged(
    rollout: Rollout,
    fleet: Fleet,
    step: StepStatus,
    evidence: Evidence | None,
    now: datetime,
) -> StepStatus | None:
    """Say how the step stands; None when it is done."""
    spec = rollout.steps[step.index]
    match spec:
        case ReplicasStep():
            return _grown(at_step(rollout, step), fleet, step)
        case PauseStep():
            return _paused(spec, step, now)
        case GateStep():
            return measured(spec, step, evidence, now)
        case JobStep():
            return _run(rollout, fleet, step, evidence)
        case _:
            assert_never(spec)


def _grown(rollout: Rollout, fleet: Fleet, step: StepStatus) -> StepStatus | None:
    size = limit(rollout, fleet)
    new = fleet.new
    available = new.status.available_replicas if new is not None and new.is_observed else 0
    old = sum(podset.replicas for podset in fleet.old)
    if available >= size and old <= rollout.replicas - size:
        return None
    message = f"waits for {size} new pods: {available} available, {old} old ones"
    return replace(step, state=StepState.PROGRESSING, message=message)


def _paused(spec: PauseStep, step: StepStatus, now: datetime) -> StepStatus | None:
    if spec.seconds is None:
        message = "waits until it is resumed (kubectl levelset rollout resume)"
    elif step.since is not None and now >= step.since + timedelta(seconds=spec.seconds):
        return None
    else:
        message = f"waits for {spec.seconds} s"
    return replace(step, state=StepState.PAUSED, message=message)


def _run(
    rollout: Rollout, fleet: Fleet, step: StepStatus, evidence: Evidence | None
) -> StepStatus | None:
    if fleet.new is not None and not step.job:
        step = replace(step, job=_job_name(rollout, fleet.new, step.index))
    if isinstance(evidence, JobOutcome) and evidence.state is JobState.SUCCEEDED:
        return None
    if isinstance(evidence, JobOutcome) and evidence.state is JobState.FAILED:
        return replace(step, state=StepState.FAILED, message=evidence.message)
    return replace(step, state=StepState.RUNNING, message=f"waits for Job {step.job}")


def _present(rollout: Rollout, fleet: Fleet, now: datetime) -> StepStatus | None:
    """Find the step that the new revision is at; None where no steps apply to it."""
    new, status = fleet.new, rollout.status
    if new is None or is_new(new) or not have_steps(rollout, status, new.key.name):
        return None
    if status.step is not None and status.step.podset == new.key.name:
        return status.step
    return _begun(rollout, new.key.name, 0, now)


def _begun(rollout: Rollout, podset: str, index: int, now: datetime) -> StepStatus:
    if index >= len(rollout.steps):
        message = "all steps are done"
        state = StepState.DONE
        return StepStatus(podset, len(rollout.steps), state=state, message=message, since=now)
    type_ = type_of(rollout.steps[index])
    return StepStatus(
        podset,
        index,
        type=type_.value,
        state=_FIRST_STATES[type_],
        since=now,
        resume=_resume_note(rollout),
    )


_FIRST_STATES: Final = {
    StepType.REPLICAS: StepState.PROGRESSING,
    StepType.PAUSE: StepState.PAUSED,
    StepType.GATE: StepState.MEASURING,
    StepType.JOB: StepState.RUNNING,
}


def _is_over(rollout: Rollout, step: StepStatus) -> bool:
    return step.state is StepState.DONE or step.index >= len(rollout.steps)


def _is_due(spec: GateStep, step: StepStatus, now: datetime) -> bool:
    return step.measured_at is None or now >= step.measured_at + spec.interval


def _is_resumed(rollout: Rollout, step: StepStatus) -> bool:
    """Tell whether somebody said so after the step began; what follows the index is ignored."""
    note = _resume_note(rollout)
    if note == step.resume:
        return False
    return note.split("/")[:2] == [step.podset, str(step.index)]


def _resume_note(rollout: Rollout) -> str:
    return rollout.annotations.get(names.RESUME_STEP, "")


def _job_name(rollout: Rollout, podset: PodSet, index: int) -> str:
    retry = rollout.annotations.get(names.RETRY, "")
    return naming.hook_job_name(
        podset.key.name, revision=revision_of(podset), index=index, retry=retry
    )
