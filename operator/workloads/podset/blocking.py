"""Why a PodSet's pods are not there or not available: one reason, with the first evidence.

A refused request comes before what pods say of themselves; a reason stays for as long as any pod
gives it, so that the status does not flicker between two that are equally true. Pure.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from kube_runtime.errors import ApiError, BadRequest, Forbidden, Invalid
from workloads.blocked_by import BlockedBy, BlockReason, cut
from workloads.pods import Pod

# What a person can do something about comes first.
_ORDER: Final[tuple[BlockReason, ...]] = (
    "Admission",
    "TemplateInvalid",
    "CrashLoop",
    "ImagePull",
    "Unschedulable",
)
_QUOTA: Final = "exceeded quota"
_WEBHOOK: Final = "admission webhook"
_TOO_LARGE: Final = "request is too large"
_PAYLOAD_TOO_LARGE: Final = 413


def reason_of_refusal(error: Exception) -> BlockReason | None:
    """Tell what kind of refusal an answer to a creation is; None when it may pass by itself."""
    if not isinstance(error, ApiError):
        return None
    if _WEBHOOK in error.message or "failed calling webhook" in error.message:
        return "Admission"  # with whatever code the webhook chose
    if isinstance(error, Forbidden):
        return "Quota" if _QUOTA in error.message else "Admission"
    if isinstance(error, (Invalid, BadRequest)) or _is_too_large(error):
        return "TemplateInvalid"
    return None


def blocked_by_refusal(
    reason: BlockReason, message: str, *, missing: int, old: BlockedBy | None, now: datetime
) -> BlockedBy:
    """Say that pods cannot be made."""
    return BlockedBy(
        reason, cut(message), count=max(1, missing), since=_since(reason, old=old, now=now)
    )


def blocked_by_pods(
    pods: Iterable[Pod], *, old: BlockedBy | None, now: datetime
) -> BlockedBy | None:
    """Say what the pods that are there have in common; None when none is in trouble."""
    troubled = sorted(
        (pod for pod in pods if pod.trouble is not None), key=lambda pod: (pod.age_key, pod.name)
    )
    reason = _choose(troubled, old)
    if reason is None:
        return None
    alike = [pod for pod in troubled if pod.trouble is not None and pod.trouble.reason == reason]
    first = alike[0]
    message = first.trouble.message if first.trouble is not None else ""
    since = _since(reason, old=old, now=now)
    return BlockedBy(reason, message, pod=first.name, count=len(alike), since=since)


def _choose(troubled: Sequence[Pod], old: BlockedBy | None) -> BlockReason | None:
    reasons = {pod.trouble.reason for pod in troubled if pod.trouble is not None}
    if old is not None and old.reason in reasons:
        return old.reason
    return next((reason for reason in _ORDER if reason in reasons), None)


def _since(reason: BlockReason, *, old: BlockedBy | None, now: datetime) -> datetime:
    if old is not None and old.reason == reason and old.since is not None:
        return old.since
    return now


def _is_too_large(error: ApiError) -> bool:
    return error.status == _PAYLOAD_TOO_LARGE or _TOO_LARGE in error.message
