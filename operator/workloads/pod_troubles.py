"""What a pod itself says about why it is not ready: read from a raw pod, in one word and one line.

pods.py calls it for each pod that is not ready; podset/blocking.py makes the status of it.
A message is put together so that it rests while the trouble does: each new text is a status write.
What a container printed (its termination message) is never looked at. Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from kube_runtime.resource import Json
from workloads.blocked_by import BlockReason, cut

_IMAGE: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_START: Final = frozenset(
    {"CrashLoopBackOff", "RunContainerError", "CreateContainerError", "PostStartHookError"}
)
_CONFIG: Final = frozenset({"CreateContainerConfigError"})
# One restart may be an accident.
_MANY_RESTARTS: Final = 2


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why one pod is not ready."""

    reason: BlockReason
    message: str


def trouble_of(pod: Json) -> Trouble | None:
    """Read the trouble of a pod that is not ready; None while it may simply need its time."""
    status: Json = pod.get("status") or {}
    if status.get("phase") == "Failed":
        return _failed(status)
    if status.get("phase") == "Succeeded":
        return Trouble("CrashLoop", "the pod ended by itself; its containers must run on")
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            text = condition.get("message") or condition.get("reason") or "not scheduled"
            return Trouble("Unschedulable", cut(text))
    troubles = (_container(entry) for entry in _containers(status))
    return next((trouble for trouble in troubles if trouble is not None), None)


def _failed(status: Json) -> Trouble:
    """Tell a pod that its node refused or put out, which gives a reason, from one that failed."""
    reason, message = status.get("reason"), status.get("message")
    text = cut(": ".join(filter(None, (reason, message))))
    if reason:
        return Trouble("Admission", text)
    endings = (_ending(entry, "state") for entry in _containers(status))
    ending = next((entry for entry in endings if entry is not None), None)
    return Trouble("CrashLoop", ending or text or "the pod failed")


def _containers(status: Json) -> Iterator[dict[str, Any]]:
    """Iterate over the containers that are not ready."""
    for field in ("initContainerStatuses", "containerStatuses"):
        yield from (entry for entry in status.get(field) or () if not entry.get("ready"))


def _container(entry: dict[str, Any]) -> Trouble | None:
    waiting = (entry.get("state") or {}).get("waiting") or {}
    reason = waiting.get("reason", "")
    text = cut(f"container {entry.get('name')}: {reason}: {waiting.get('message') or 'no message'}")
    if reason in _IMAGE:
        return Trouble("ImagePull", text)
    if reason in _CONFIG:
        return Trouble("TemplateInvalid", text)
    ending = _ending(entry, "state") or _ending(entry, "lastState")
    if reason in _START or (ending and entry.get("restartCount", 0) >= _MANY_RESTARTS):
        return Trouble("CrashLoop", ending or text)
    return None


def _ending(entry: dict[str, Any], field: str) -> str | None:
    """Say how a container ended; None when it did not, or as an init container should."""
    terminated = (entry.get(field) or {}).get("terminated")
    if not terminated or terminated.get("exitCode") == 0:
        return None
    return cut(
        f"container {entry.get('name')}: {terminated.get('reason') or 'ended'}, "
        f"exit code {terminated.get('exitCode')}, {entry.get('restartCount', 0)} restarts"
    )
