"""What can go wrong in `levelset app`, beyond what the cluster and Git say themselves."""

# ruff: noqa: N818 - named as what happened

from kube_runtime.errors import LevelsetError


class AppError(LevelsetError):
    """The base of the command's own errors."""

    reason = "App"


class NoSuchApplication(AppError):
    """There is no Application of that name."""

    reason = "NoSuchApplication"


class WaitedInVain(AppError):
    """The time was up before the Application was as wished."""

    reason = "WaitedInVain"


class SyncFailed(AppError):
    """The sync that was asked for has failed."""

    reason = "SyncFailed"
