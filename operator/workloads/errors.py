"""What can go wrong in this part, beside the errors of the API itself.

Every error says when to try again (retry_after, None = when something changes) and carries the
CamelCase reason that becomes an event or a condition.
"""

from kube_runtime.errors import ApiError, LevelsetError


class WorkloadsError(LevelsetError):
    """The base of this part's errors."""

    reason = "WorkloadsError"


class StaleCacheError(WorkloadsError):
    """The live owner differs from the cached one: acting now would act on the past."""

    reason = "StaleCache"
    retry_after = 0.05


class RefusedError(WorkloadsError):
    """A creation was refused, and it is certain that no earlier try of it has worked."""

    reason = "Refused"

    def __init__(self, answer: ApiError) -> None:
        super().__init__(str(answer))
        self.answer = answer


class NameTakenError(WorkloadsError):
    """A name that we chose belongs to somebody else's object."""

    reason = "NameTaken"
    retry_after = 0.0
