"""Is it doing what it is there for?"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_agent.health import Health, HealthStatus, health_of, worst
from kube_runtime.resource import Json

# A loaded machine is no failure, and all unit tests together take seconds.
BRIEF = settings(max_examples=40, deadline=None)


def _object(api_version: str, kind: str, spec: Json, status: Json, **metadata: object) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "generation": 2, **metadata},
        "spec": spec,
        "status": status,
    }


def _condition(kind: str, status: str = "True", reason: str = "R") -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": "m"}


def _deployment(replicas: int, updated: int, total: int, available: int, **more: object) -> Json:
    counts = {"updatedReplicas": updated, "replicas": total, "availableReplicas": available}
    status = {"observedGeneration": 2, **counts, **more}
    return _object("apps/v1", "Deployment", {"replicas": replicas}, status)


TIMED_OUT = [_condition("Progressing", "False", "ProgressDeadlineExceeded")]
WAITING = {"name": "c", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}


@pytest.mark.parametrize(
    ("obj", "status"),
    [
        (None, "Missing"),
        (_object("v1", "ConfigMap", {}, {}), "Healthy"),
        (_object("v1", "ConfigMap", {}, {}, deletionTimestamp="now"), "Progressing"),
        (_deployment(3, 3, 3, 3), "Healthy"),
        (_deployment(3, 2, 3, 3), "Progressing"),
        (_deployment(3, 3, 4, 3), "Progressing"),
        (_deployment(3, 3, 3, 2), "Progressing"),
        (_deployment(3, 1, 3, 3, conditions=TIMED_OUT), "Degraded"),
        (_deployment(3, 3, 3, 3) | {"status": {"observedGeneration": 1}}, "Progressing"),
        (_deployment(3, 3, 3, 3) | {"status": {}}, "Progressing"),
        (_deployment(3, 3, 3, 3) | {"spec": {"paused": True}}, "Suspended"),
        (_object("apps/v1", "DaemonSet", {}, {}), "Progressing"),
        (_object("apps/v1", "DaemonSet", {}, {"observedGeneration": 2}), "Healthy"),
        (_object("apps/v1", "StatefulSet", {"replicas": 1}, {}), "Progressing"),
        (
            _object("levelset.dev/v1alpha1", "Rollout", {}, {"observedGeneration": -1}),
            "Progressing",
        ),
        (_object("levelset.dev/v1alpha1", "Rollout", {}, {}), "Progressing"),
        (
            _object(
                "levelset.dev/v1alpha1",
                "Rollout",
                {},
                {"observedGeneration": 2, "conditions": [_condition("Ready")]},
            ),
            "Healthy",
        ),
        (
            _object(
                "levelset.dev/v1alpha1",
                "Rollout",
                {},
                {
                    "observedGeneration": 2,
                    "conditions": [_condition("Ready", "False"), _condition("Stalled")],
                },
            ),
            "Degraded",
        ),
        (
            _object("x/v1", "Any", {}, {"conditions": [_condition("Ready", "Unknown")]}),
            "Progressing",
        ),
        (_object("x/v1", "Any", {}, {"conditions": [_condition("Reconciling")]}), "Progressing"),
        (_object("batch/v1", "Job", {}, {"conditions": [_condition("Complete")]}), "Healthy"),
        (_object("batch/v1", "Job", {}, {"conditions": [_condition("Failed")]}), "Degraded"),
        (_object("batch/v1", "Job", {"suspend": True}, {}), "Suspended"),
        (_object("batch/v1", "Job", {}, {}), "Progressing"),
        (_object("v1", "Service", {}, {}), "Healthy"),
        (_object("v1", "Service", {"type": "LoadBalancer"}, {}), "Progressing"),
        (_object("v1", "PersistentVolumeClaim", {}, {"phase": "Bound"}), "Healthy"),
        (_object("v1", "PersistentVolumeClaim", {}, {"phase": "Pending"}), "Progressing"),
        (_object("v1", "PersistentVolumeClaim", {}, {"phase": "Lost"}), "Degraded"),
        (
            _object("v1", "Pod", {}, {"phase": "Pending", "containerStatuses": [WAITING]}),
            "Degraded",
        ),
        (_object("v1", "Pod", {}, {"phase": "Succeeded"}), "Healthy"),
        (_object("v1", "Pod", {}, {"phase": "Failed"}), "Degraded"),
        (
            _object("v1", "Pod", {}, {"phase": "Running", "conditions": [_condition("Ready")]}),
            "Healthy",
        ),
        (_object("v1", "Namespace", {}, {"phase": "Active"}), "Healthy"),
        (
            _object(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                {},
                {"conditions": [_condition("Established")]},
            ),
            "Healthy",
        ),
        (_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", {}, {}), "Progressing"),
    ],
)
def test_an_object_is_judged_by_what_its_controller_says(obj: Json | None, status: str) -> None:
    assert health_of(obj).status.name == status


@BRIEF
@given(st.lists(st.sampled_from(list(HealthStatus))))
def test_the_worst_counts_and_nothing_is_healthy(statuses: list[HealthStatus]) -> None:
    expected = max(statuses, default=HealthStatus.Healthy)

    assert worst(Health(status) for status in statuses).status is expected
