"""What the store keeps of a pod: what pods.py reads and claims need, a tenth of the whole.

Given to the informer as its transform, so that thousands of pods fit into little memory.
Whoever reads another field of a pod must add it here. Pure.
"""

from typing import Any, Final

from kube_runtime.resource import Json
from workloads import names
from workloads.blocked_by import cut
from workloads.pods import TERMINAL_PHASES

_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "labels",
    "ownerReferences",
    "creationTimestamp",
    "deletionTimestamp",
)


def slim_pod(pod: Json) -> Json:
    """Return a pod with only the fields that the controllers read."""
    metadata = {field: pod["metadata"][field] for field in _METADATA if field in pod["metadata"]}
    cost = (pod["metadata"].get("annotations") or {}).get(names.POD_DELETION_COST)
    if cost is not None:
        metadata["annotations"] = {names.POD_DELETION_COST: cost}
    return {
        "metadata": metadata,
        "spec": _spec(pod.get("spec") or {}),
        "status": _status(pod.get("status") or {}),
    }


def _spec(spec: Json) -> Json:
    kept: Json = {}
    if spec.get("nodeName"):
        kept["nodeName"] = spec["nodeName"]
    if spec.get("initContainers"):
        kept["initContainers"] = _fields(spec["initContainers"], ("name", "restartPolicy"))
    return kept


def _status(status: Json) -> Json:
    kept: Json = {}
    if "phase" in status:
        kept["phase"] = status["phase"]
    conditions = [_condition(entry) for entry in status.get("conditions") or () if _is_told(entry)]
    if conditions:
        kept["conditions"] = conditions
    if status.get("phase") in TERMINAL_PHASES:
        kept |= {field: status[field] for field in ("reason", "startTime") if field in status}
        if status.get("message"):
            kept["message"] = cut(status["message"])
    for field in ("containerStatuses", "initContainerStatuses"):
        told = [entry for entry in map(_container, status.get(field) or ()) if len(entry) > 1]
        if told:
            kept[field] = told
    return kept


def _is_told(condition: dict[str, Any]) -> bool:
    match condition.get("type"):
        case "Ready":
            return True
        case "PodScheduled":
            return condition.get("status") == "False"
        case "DisruptionTarget":
            return condition.get("status") == "True"
        case _:
            return False


def _condition(condition: dict[str, Any]) -> Json:
    if condition["type"] != "PodScheduled":
        return _one(condition, ("type", "status", "lastTransitionTime"))
    kept = _one(condition, ("type", "status", "reason"))
    if condition.get("message"):
        kept["message"] = cut(condition["message"])
    return kept


def _container(entry: dict[str, Any]) -> Json:
    """Keep the restarts, and of one that is not up what it waits for and how it ended."""
    kept: Json = {"name": entry.get("name")}
    if entry.get("restartCount"):
        kept["restartCount"] = entry["restartCount"]
    if entry.get("ready"):
        return kept
    for field in ("state", "lastState"):
        told = _state(entry.get(field) or {})
        if told:
            kept[field] = told
    return kept


def _state(state: Json) -> Json:
    kept: Json = {}
    waiting, terminated = state.get("waiting"), state.get("terminated")
    if waiting:
        kept["waiting"] = _one(waiting, ("reason",))
        if waiting.get("message"):
            kept["waiting"]["message"] = cut(waiting["message"])
    if terminated:
        kept["terminated"] = _one(terminated, ("reason", "exitCode"))
    return kept


def _fields(entries: list[dict[str, Any]], wanted: tuple[str, ...]) -> list[dict[str, Any]]:
    return [_one(entry, wanted) for entry in entries]


def _one(entry: dict[str, Any], wanted: tuple[str, ...]) -> dict[str, Any]:
    return {field: entry[field] for field in wanted if field in entry}
