"""What the exporter keeps of an object is exactly what its lines are made of."""

import copy

import pytest

from exporters.state.kinds import WATCHED_KINDS, WatchedKind
from exporters.state.watcher import slimmed
from kube_runtime.resource import Json

WHOLE: Json = {
    "apiVersion": "levelset.dev/v1alpha1",
    "kind": "Any",
    "metadata": {
        "namespace": "shop",
        "name": "web",
        "uid": "u-1",
        "resourceVersion": "7",
        "generation": 3,
        "creationTimestamp": "2026-11-30T12:00:00Z",
        "deletionTimestamp": "2026-11-30T12:00:30Z",
        "labels": {"a": "b"},
        "annotations": {"large": "x" * 1000},
        "managedFields": [{"manager": "x"}],
    },
    "spec": {
        "replicas": 4,
        "paused": True,
        "project": "shop",
        "template": {"spec": {"containers": [{"name": "web"}]}},
    },
    "status": {
        "observedGeneration": 2,
        "replicas": 5,
        "updatedReplicas": 4,
        "readyReplicas": 3,
        "availableReplicas": 2,
        "terminatingReplicas": 1,
        "conditions": [{"type": "Ready", "status": "True"}],
        "sync": {"status": "OutOfSync"},
        "health": {"status": "Healthy"},
        "operationState": {"finishedAt": "2026-11-30T12:00:30Z"},
        "resources": [{"kind": "Service", "name": "web", "status": "OutOfSync"}],
        "inventory": {"entries": [{"kind": "Service", "name": "web"}]},
    },
}


@pytest.mark.parametrize("kind", WATCHED_KINDS, ids=lambda kind: kind.name)
def test_a_slim_object_reads_like_the_whole_one(kind: WatchedKind) -> None:
    slim = slimmed(copy.deepcopy(WHOLE))

    assert kind.render(slim) == kind.render(WHOLE)


def test_templates_annotations_and_inventories_are_not_kept() -> None:
    slim = slimmed(copy.deepcopy(WHOLE))

    assert set(slim["spec"]) == {"replicas", "paused", "project"}
    assert "inventory" not in slim["status"]
    assert {"annotations", "labels", "managedFields"}.isdisjoint(slim["metadata"])


def test_what_the_informer_needs_is_kept() -> None:
    metadata = slimmed(copy.deepcopy(WHOLE))["metadata"]

    assert {"namespace", "name", "uid", "resourceVersion"} <= set(metadata)
