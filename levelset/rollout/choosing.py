"""Which pod, which container: the newest revision first, ready before running. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kube_runtime.resource import Json, annotations_of, controller_of, is_deleting
from levelset.rollout.errors import NoPod
from levelset.rollout.history import Revision

_DEFAULT_CONTAINER: Final = "kubectl.kubernetes.io/default-container"
_ENDED: Final = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Choice:
    """The pod to use, and what should be said about it."""

    pod: str
    note: str = ""


def pod_for_exec(
    name: str, pods: Sequence[Json], history: Sequence[Revision], *, newest: str
) -> Choice:
    """Choose a ready pod of the PodSet `newest`, else the next best; raises NoPod."""
    numbers = {each.podset["metadata"]["name"]: each.number for each in history}
    running = [pod for pod in pods if _is_running(pod)]
    if not running:
        raise NoPod(f'rollout "{name}" has no running pod{_why(pods)}')
    best = max(
        running,
        key=lambda pod: (
            _podset(pod) == newest and is_ready(pod),
            is_ready(pod),
            _podset(pod) == newest,
            numbers.get(_podset(pod), 0),
            pod["metadata"]["name"],
        ),
    )
    return Choice(best["metadata"]["name"], _note(best, numbers, newest=newest))


def is_ready(pod: Json) -> bool:
    """Tell whether the Ready condition is True."""
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in (pod.get("status") or {}).get("conditions") or ()
    )


def default_container(pod: Json) -> str:
    """Name the container that is meant when none is named, as kubectl does."""
    there = [container["name"] for container in pod["spec"]["containers"]]
    named = annotations_of(pod).get(_DEFAULT_CONTAINER, "")
    return named if named in there else there[0]


def container_names(pod: Json) -> list[str]:
    """Name all of its containers, the init and the ephemeral ones included."""
    return [
        container["name"]
        for field in ("initContainers", "containers", "ephemeralContainers")
        for container in pod["spec"].get(field) or ()
    ]


def waiting_reasons(pods: Sequence[Json]) -> Iterator[str]:
    """Say of each container that waits what it waits for."""
    for pod in pods:
        status = pod.get("status") or {}
        for entry in (
            *(status.get("initContainerStatuses") or ()),
            *(status.get("containerStatuses") or ()),
        ):
            if waiting := (entry.get("state") or {}).get("waiting"):
                yield (
                    f"pod/{pod['metadata']['name']} container {entry['name']}: "
                    f"{waiting.get('reason', 'waiting')}"
                )


def _podset(pod: Json) -> str:
    owner = controller_of(pod)
    return owner.name if owner is not None else ""


def _is_running(pod: Json) -> bool:
    return (pod.get("status") or {}).get("phase") == "Running" and not is_deleting(pod)


def _why(pods: Sequence[Json]) -> str:
    live = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in _ENDED]
    if not live:
        return ""
    return f"; {next(waiting_reasons(live), str(len(live)) + ' pending or ending')}"


def _note(pod: Json, numbers: dict[str, int], *, newest: str) -> str:
    name = pod["metadata"]["name"]
    if _podset(pod) != newest:
        return f"no pod of the newest revision is ready: {name} is of revision {numbers.get(_podset(pod), 0)}"
    return "" if is_ready(pod) else f"no pod is ready: {name} only runs"
