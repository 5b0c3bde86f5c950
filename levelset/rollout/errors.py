"""What can go wrong in `levelset rollout`, `logs`, `exec` and `trace`, beyond the cluster's own."""

# ruff: noqa: N818 - named as what happened

from kube_runtime.errors import LevelsetError


class RolloutError(LevelsetError):
    """The base of the commands' own errors."""

    reason = "Rollout"


class NoSuchRollout(RolloutError):
    """There is no Rollout of that name."""

    reason = "NoSuchRollout"


class NoSuchRevision(RolloutError):
    """The history has no such revision."""

    reason = "NoSuchRevision"


class Refused(RolloutError):
    """The Rollout is not in a state in which this can be done."""

    reason = "Refused"


class RolloutFailed(RolloutError):
    """The rollout that was waited for has failed."""

    reason = "RolloutFailed"


class WaitedInVain(RolloutError):
    """The time was up before the rollout had ended."""

    reason = "WaitedInVain"


class NoPod(RolloutError):
    """There is no pod that this could be done with."""

    reason = "NoPod"


class NoKubectl(RolloutError):
    """The command hands over to kubectl, which is not there."""

    reason = "NoKubectl"
