"""What a dry run says about a template, and what that means for the rollout. Pure.

Three ways out: accepted; refused, so that nothing is begun; not to be told, since what refused it
passes by itself (a quota) or cannot be asked (a webhook without dry run), so that the rollout goes on.
"""

from dataclasses import dataclass
from typing import Final

from kube_runtime.conditions import Status
from kube_runtime.errors import ApiError, Invalid
from workloads.blocked_by import BlockReason

ACCEPTED: Final = "Accepted"
NOT_CHECKED: Final = "NotChecked"
TEMPLATE_INVALID: Final[BlockReason] = "TemplateInvalid"
ADMISSION: Final[BlockReason] = "Admission"
# The texts are the API server's own, of v1.37; there is no reason or code that tells these apart.
_QUOTA_TEXTS: Final = ("exceeded quota", "failed quota")
_NO_DRY_RUN_TEXT: Final = "does not support dry run"
_WEBHOOK_TEXTS: Final = ("admission webhook", "failed calling webhook")


@dataclass(frozen=True, slots=True)
class TemplateVerdict:
    """The answer to: would such a pod be let in?"""

    status: Status
    reason: str
    message: str
    retry_after: float | None = None
    """Seconds until it is asked again, where it was refused."""

    @property
    def blocks(self) -> BlockReason | None:
        """Name what keeps the rollout from beginning; None when nothing does."""
        if self.status != "False":
            return None
        return TEMPLATE_INVALID if self.reason == TEMPLATE_INVALID else ADMISSION


VALID: Final = TemplateVerdict("True", ACCEPTED, "the API server would take such a pod")


def verdict_of(error: ApiError) -> TemplateVerdict | None:
    """Judge a refusal; None when it says nothing about the template (a broken server, say).

    A webhook that does not answer lets no pod in either, so it is told like one that says no.
    """
    message = str(error)
    if any(text in message for text in _QUOTA_TEXTS):
        return TemplateVerdict("True", ACCEPTED, f"but for the quota: {message}")
    if _NO_DRY_RUN_TEXT in message:
        return TemplateVerdict("Unknown", NOT_CHECKED, message)
    if any(text in message for text in _WEBHOOK_TEXTS):
        return TemplateVerdict("False", ADMISSION, message)
    if isinstance(error, Invalid) or error.status == 400:
        return TemplateVerdict("False", TEMPLATE_INVALID, message)
    if error.status == 403:
        return TemplateVerdict("False", ADMISSION, message)
    return None
