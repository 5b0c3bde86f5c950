"""Why a milestone is late: what events and container states say, in one line. Pure.

Each function returns "" when there is nothing to say. Messages come from the node and the
scheduler; none of them holds values of Secrets, and nothing here reads any.
"""

from collections.abc import Sequence
from typing import Final

from kube_runtime.resource import Json
from levelset.trace.events import Event, last_of, one_line

_PULL_WAITS: Final = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "ErrImageNeverPull",
        "InvalidImageName",
        "RegistryUnavailable",
    }
)
_NO_REASON: Final = frozenset({"ContainerCreating", "PodInitializing"})


def unscheduled(events: Sequence[Event]) -> str:
    """Say what the scheduler found."""
    return _text(last_of(events, "FailedScheduling"))


def no_sandbox(events: Sequence[Event]) -> str:
    """Say what kept the node from making the pod's sandbox: network, volumes."""
    return _text(
        last_of(
            events,
            "FailedCreatePodSandBox",
            "FailedMount",
            "FailedAttachVolume",
            "FailedMapVolume",
            "NetworkNotReady",
        )
    )


def uninitialized(pod: Json, events: Sequence[Event]) -> str:
    """Name the init container that has not ended well, and how it stands."""
    for entry in (pod.get("status") or {}).get("initContainerStatuses") or ():
        state: Json = entry.get("state") or {}
        ended = state.get("terminated")
        if ended and ended.get("exitCode") == 0:
            continue
        waiting = state.get("waiting") or {}
        how = _waiting_text(waiting) or ("it runs" if "running" in state else "")
        return f"init container {entry['name']}: {how or _ended_text(entry) or 'it waits'}"
    return _text(last_of(events, "BackOff"))


def unpulled(containers: Sequence[Json], events: Sequence[Event]) -> str:
    """Say why the image is not there yet."""
    for entry in containers:
        waiting = (entry.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _PULL_WAITS:
            return f"container {entry['name']}: {_waiting_text(waiting)}"
    pulling = last_of(events, "Pulling")
    return one_line(pulling.message) if pulling is not None else ""


def unstarted(containers: Sequence[Json], events: Sequence[Event]) -> str:
    """Say why a container that has its image does not start."""
    for entry in containers:
        waiting = (entry.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") and waiting["reason"] not in _NO_REASON | _PULL_WAITS:
            return f"container {entry['name']}: {_waiting_text(waiting)}{_after(entry)}"
    return _text(last_of(events, "FailedPostStartHook", "FailedCreate", "InspectFailed"))


def restarts(containers: Sequence[Json]) -> str:
    """Say how often containers were started again, and how the last one ended."""
    for entry in containers:
        if count := entry.get("restartCount", 0):
            many = "once" if count == 1 else f"{count} times"
            return f"container {entry['name']} was started again {many}{_after(entry)}"
    return ""


def unready(pod: Json, events: Sequence[Event]) -> str:
    """Say why the pod is not ready: a crash loop, a failing probe, a gate."""
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    if looping := unstarted(containers, ()):
        return looping
    if unhealthy := last_of(events, "Unhealthy"):
        return _text(unhealthy)
    return _gates(pod) or restarts(containers)


def _gates(pod: Json) -> str:
    status = {
        condition.get("type"): condition.get("status")
        for condition in (pod.get("status") or {}).get("conditions") or ()
    }
    for gate in pod["spec"].get("readinessGates") or ():
        if status.get(gate["conditionType"]) != "True":
            return f"readiness gate {gate['conditionType']} is not True"
    return ""


def _waiting_text(waiting: Json) -> str:
    reason, message = waiting.get("reason") or "", one_line(waiting.get("message") or "")
    if reason in _NO_REASON and not message:
        return ""
    return f"{reason}: {message}" if message else reason


def _after(entry: Json) -> str:
    ended = _ended_text(entry)
    return f"; {ended}" if ended else ""


def _ended_text(entry: Json) -> str:
    for state in (entry.get("state") or {}, entry.get("lastState") or {}):
        if ended := state.get("terminated"):
            reason = ended.get("reason") or "ended"
            return f"it ended with exit code {ended.get('exitCode', 0)} ({reason})"
    return ""


def _text(event: Event | None) -> str:
    return event.text if event is not None else ""
