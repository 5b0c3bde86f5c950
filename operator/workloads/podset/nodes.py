"""Which nodes are being emptied, and the PodSets to look at when one is cordoned or uncordoned.

Fed by an informer of nodes that keeps nothing of a node but what is read here. Nothing rests on
it but which pod goes first and what a status counts: without nodes all others go on.
"""

from collections.abc import Callable
from typing import Final

from kube_runtime.resource import Json
from kube_runtime.store import Store

# Who takes a node away marks it so; cordoning sets the first one beside spec.unschedulable.
_EMPTYING_TAINTS: Final = frozenset(
    {
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/out-of-service",
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
    }
)
_METADATA: Final = ("name", "uid", "resourceVersion")


def slim_node(node: Json) -> Json:
    """Return a node with only what is read of it: a hundredth of the whole."""
    metadata = node["metadata"]
    spec: Json = node.get("spec") or {}
    kept: Json = {}
    if spec.get("unschedulable"):
        kept["unschedulable"] = True
    if spec.get("taints"):
        kept["taints"] = [{"key": taint.get("key")} for taint in spec["taints"]]
    return {
        "metadata": {field: metadata[field] for field in _METADATA if field in metadata},
        "spec": kept,
    }


def is_being_emptied(node: Json) -> bool:
    """Tell whether a node is cordoned, or marked by whoever is about to take it away."""
    spec: Json = node.get("spec") or {}
    if spec.get("unschedulable"):
        return True
    return any(taint.get("key") in _EMPTYING_TAINTS for taint in spec.get("taints") or ())


class DisruptedNodes:
    """The names of the nodes that are being emptied, always up to date."""

    def __init__(self, pods: Store, wake: Callable[[Json], object]) -> None:
        self._pods = pods
        self._wake = wake
        self._names: frozenset[str] = frozenset()

    @property
    def names(self) -> frozenset[str]:
        """The nodes whose pods must soon give way."""
        return self._names

    def on_node(self, old: Json | None, new: Json | None) -> None:
        """Take in a change of a node, and look at its pods' owners when it is another state."""
        node = new or old
        if node is None:
            return
        name = node["metadata"]["name"]
        is_disrupted = new is not None and is_being_emptied(new)
        if is_disrupted == (name in self._names):
            return
        self._names = self._names | {name} if is_disrupted else self._names - {name}
        # Rare enough to look at every pod: an index of all pods by node would cost memory always.
        for pod in self._pods.list():
            if (pod.get("spec") or {}).get("nodeName") == name:
                self._wake(pod)
