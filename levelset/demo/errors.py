"""What ends the demo: a claim that did not hold."""

from kube_runtime.errors import LevelsetError


class DemoFailedError(LevelsetError):
    """A step did not hold; the message says what was expected and what was found."""

    reason = "DemoFailed"


def require(holds: bool, message: str) -> None:  # noqa: FBT001 - reads as an assertion
    """Fail the demo unless the claim holds."""
    if not holds:
        raise DemoFailedError(message)
