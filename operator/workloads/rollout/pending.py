"""Whether steps still stand between a revision and the end of its rollout.

Asked by the plan, which keeps the new pods few for so long, and by the conditions, which must not
call a rollout complete before its last gate. Pure.
"""

from workloads.rollout.resources import Rollout, RolloutStatus
from workloads.rollout.standing import StepState


def have_steps(rollout: Rollout, status: RolloutStatus, podset: str) -> bool:
    """Tell whether a revision goes through steps: not the first one, not the last good one."""
    if not rollout.steps or status.held is not None or status.known_good is None:
        return False
    return status.known_good.podset != podset


def are_steps_pending(rollout: Rollout, status: RolloutStatus, podset: str) -> bool:
    """Tell whether it has not come to the end of them."""
    if not have_steps(rollout, status, podset):
        return False
    step = status.step
    return step is None or step.podset != podset or step.state is not StepState.DONE
