"""What is added to a pod when it is made, and what the template keeps to itself."""

import copy
from typing import Any

import pytest

from kube_runtime.resource import Json
from workloads.podset.pod_body import pod_factory

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
HOOK = {"exec": {"command": ["/bin/bye"]}}


def podset(*, labels: Json | None = None, pod: Json | None = None, **spec: Any) -> Json:
    template = {
        "metadata": {"labels": labels or {"app": "web"}},
        "spec": pod or {"containers": [{"name": "web", "image": "web:1"}]},
    }
    selector = {"matchLabels": labels or {"app": "web"}}
    return {
        "metadata": {"namespace": "ns", "name": "web", "uid": "u"},
        "spec": {"template": template, "selector": selector, **spec},
    }


def made(raw: Json) -> Json:
    """Make one pod, and see that the template has not changed."""
    before = copy.deepcopy(raw)
    body = pod_factory(raw)("web-1")
    assert raw == before
    return body


def test_the_cluster_autoscaler_may_evict() -> None:
    assert made(podset())["metadata"]["annotations"] == {SAFE_TO_EVICT: "true"}


@pytest.mark.parametrize(
    ("volume", "is_said"),
    [({"emptyDir": {}}, False), ({"hostPath": {"path": "/x"}}, False), ({"secret": {}}, True)],
)
def test_a_pod_with_local_storage_is_not_said_to_be_safe(volume: Json, *, is_said: bool) -> None:
    pod = {"containers": [{"name": "web"}], "volumes": [{"name": "v", **volume}]}

    assert ("annotations" in made(podset(pod=pod))["metadata"]) is is_said


def test_what_the_template_says_of_evicting_stays() -> None:
    raw = podset()
    raw["spec"]["template"]["metadata"]["annotations"] = {SAFE_TO_EVICT: "false", "a": "b"}

    assert made(raw)["metadata"]["annotations"] == {SAFE_TO_EVICT: "false", "a": "b"}


def test_pods_are_spread_as_the_scheduler_spreads_those_of_built_in_kinds() -> None:
    shared = {
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }

    assert made(podset())["spec"]["topologySpreadConstraints"] == [
        {"maxSkew": 3, "topologyKey": "kubernetes.io/hostname", **shared},
        {"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", **shared},
    ]


def test_each_revision_is_spread_by_itself() -> None:
    raw = podset(labels={"app": "web", "pod-template-hash": "h"})

    for constraint in made(raw)["spec"]["topologySpreadConstraints"]:
        # The API forbids a key in both.
        assert constraint["labelSelector"] == {"matchLabels": {"app": "web"}}
        assert constraint["matchLabelKeys"] == ["pod-template-hash"]


def test_a_template_that_spreads_its_pods_is_left_alone() -> None:
    own = [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}]
    pod = {"containers": [{"name": "web"}], "topologySpreadConstraints": own}

    assert made(podset(pod=pod))["spec"]["topologySpreadConstraints"] == own


def test_each_default_can_be_switched_off() -> None:
    body = made(podset(defaults={"safeToEvict": False, "topologySpread": False}))

    assert "annotations" not in body["metadata"]
    assert "topologySpreadConstraints" not in body["spec"]


@pytest.mark.parametrize(("asked", "given"), [(None, 40), (5, 15), (0, 10)])
def test_a_drain_sleeps_before_the_stop_and_leaves_the_grace_as_it_was(
    asked: int | None, given: int
) -> None:
    pod: Json = {
        "containers": [
            {"name": "plain"},
            {"name": "own", "lifecycle": {"preStop": HOOK}},
            {"name": "start", "lifecycle": {"postStart": HOOK}},
        ],
        "initContainers": [{"name": "sidecar", "restartPolicy": "Always"}],
    }
    if asked is not None:
        pod["terminationGracePeriodSeconds"] = asked
    sleep = {"sleep": {"seconds": 10}}

    spec = made(podset(pod=pod, drainSeconds=10))["spec"]

    assert [entry["lifecycle"] for entry in spec["containers"]] == [
        {"preStop": sleep},
        {"preStop": HOOK},
        {"postStart": HOOK, "preStop": sleep},
    ]
    assert spec["initContainers"] == pod["initContainers"]
    assert spec["terminationGracePeriodSeconds"] == given


def test_a_drain_that_adds_no_hook_adds_no_grace() -> None:
    pod = {"containers": [{"name": "own", "lifecycle": {"preStop": HOOK}}]}

    spec = made(podset(pod=pod, drainSeconds=10))["spec"]

    assert "terminationGracePeriodSeconds" not in spec
    assert spec["containers"] == pod["containers"]
