"""Which nodes are being emptied, and whose PodSets hear of it."""

from typing import Any

import pytest

from kube_runtime.resource import Json, Key
from kube_runtime.store import Store
from workloads.podset.nodes import DisruptedNodes, is_being_emptied, slim_node


def node(name: str = "n1", *taints: str, **spec: Any) -> Json:
    if taints:
        spec["taints"] = [{"key": taint, "effect": "NoSchedule"} for taint in taints]
    return {
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": {"a": "b"}},
        "spec": {"podCIDR": "10.0.0.0/24", **spec},
        "status": {"images": [{"names": ["x"] * 50}]},
    }


def store_of(**nodes: str) -> Store:
    store = Store()
    for name, on in nodes.items():
        pod = {"metadata": {"namespace": "ns", "name": name}, "spec": {"nodeName": on}}
        store.upsert(Key("ns", name), pod)
    return store


@pytest.mark.parametrize(
    ("raw", "is_emptied"),
    [
        (node(), False),
        (node("n1", "node.kubernetes.io/memory-pressure"), False),
        (node(unschedulable=True), True),
        (node("n1", "ToBeDeletedByClusterAutoscaler"), True),
        (node("n1", "karpenter.sh/disrupted"), True),
        (node("n1", "node.kubernetes.io/out-of-service"), True),
    ],
)
def test_a_node_is_being_emptied_when_it_is_marked_so(raw: Json, *, is_emptied: bool) -> None:
    assert is_being_emptied(raw) is is_emptied
    assert is_being_emptied(slim_node(raw)) is is_emptied


def test_little_is_kept_of_a_node() -> None:
    slim = slim_node(node("n1", "a", "b"))

    assert slim == {
        "metadata": {"name": "n1", "uid": "n1", "resourceVersion": "1"},
        "spec": {"taints": [{"key": "a"}, {"key": "b"}]},
    }


def test_a_cordon_wakes_those_with_pods_there_once() -> None:
    woken: list[str] = []
    pods = store_of(a="n1", b="n2", c="n1")
    nodes = DisruptedNodes(pods, lambda pod: woken.append(pod["metadata"]["name"]))
    cordoned = node(unschedulable=True)

    nodes.on_node(None, node())
    nodes.on_node(node(), cordoned)
    nodes.on_node(cordoned, cordoned)

    assert woken == ["a", "c"]
    assert nodes.names == {"n1"}


@pytest.mark.parametrize("new", [node(), None])
def test_a_node_that_is_uncordoned_or_gone_is_so_no_more(new: Json | None) -> None:
    woken: list[str] = []
    nodes = DisruptedNodes(store_of(a="n1"), lambda pod: woken.append(pod["metadata"]["name"]))
    nodes.on_node(None, node(unschedulable=True))

    nodes.on_node(node(unschedulable=True), new)

    assert nodes.names == frozenset()
    assert woken == ["a", "a"]
