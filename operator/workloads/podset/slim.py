"""What the store keeps of a pod: what pods.py reads and claims need, a tenth of the whole.

Given to the informer as its transform, so that thousands of pods fit into little memory.
Whoever reads another field of a pod must add it here. Pure.
"""

from typing import Any, Final

from kube_runtime.resource import Json
from workloads import names

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
    ready = [entry for entry in status.get("conditions") or () if entry.get("type") == "Ready"]
    if ready:
        kept["conditions"] = _fields(ready, ("type", "status", "lastTransitionTime"))
    for field in ("containerStatuses", "initContainerStatuses"):
        restarted = [entry for entry in status.get(field) or () if entry.get("restartCount")]
        if restarted:
            kept[field] = _fields(restarted, ("name", "restartCount"))
    return kept


def _fields(entries: list[dict[str, Any]], wanted: tuple[str, ...]) -> list[dict[str, Any]]:
    return [{field: entry[field] for field in wanted if field in entry} for entry in entries]
