"""Raw pods read into what decisions rest on."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime.resource import Json
from workloads.pods import parse_pod
from workloads.podset.slim import slim_pod

CREATED = "2026-01-01T00:00:00Z"
NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


def raw_pod(**status: object) -> Json:
    metadata = {"name": "a", "uid": "u", "creationTimestamp": CREATED}
    return {"metadata": metadata, "spec": {}, "status": status}


def with_cost(cost: str) -> Json:
    raw = raw_pod()
    raw["metadata"]["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}
    return raw


def test_a_pod_without_anything_is_pending_and_unassigned() -> None:
    pod = parse_pod({"metadata": {"name": "a"}})

    assert (pod.phase, pod.node, pod.is_ready, pod.is_active) == ("Pending", "", False, True)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_is_no_replica(phase: str) -> None:
    assert not parse_pod(raw_pod(phase=phase)).is_active


def test_a_deleting_pod_is_terminating_until_it_has_ended() -> None:
    raw = raw_pod(phase="Running")
    raw["metadata"]["deletionTimestamp"] = CREATED
    ended = {**raw, "status": {"phase": "Failed"}}

    assert parse_pod(raw).is_terminating
    assert not parse_pod(ended).is_terminating
    assert not parse_pod(raw).is_active


def test_a_ready_pod_is_available_after_min_ready_seconds() -> None:
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:50Z"}
    pod = parse_pod(raw_pod(conditions=[ready]))

    assert pod.is_available(0, NOW)
    assert pod.is_available(10, NOW)
    assert not pod.is_available(11, NOW)
    assert pod.available_at(11) == NOW + timedelta(seconds=1)


def test_a_readiness_without_a_date_counts_from_the_creation() -> None:
    pod = parse_pod(raw_pod(conditions=[{"type": "Ready", "status": "True"}]))

    assert pod.ready_since == datetime(2026, 1, 1, tzinfo=UTC)


def test_only_restartable_init_containers_count_as_sidecars() -> None:
    raw = raw_pod(
        containerStatuses=[{"name": "c", "restartCount": 2}, {"name": "d", "restartCount": 5}],
        initContainerStatuses=[
            {"name": "init", "restartCount": 9},
            {"name": "sidecar", "restartCount": 3},
        ],
    )
    raw["spec"] = {
        "initContainers": [{"name": "init"}, {"name": "sidecar", "restartPolicy": "Always"}]
    }

    pod = parse_pod(raw)

    assert (pod.restarts, pod.sidecar_restarts) == (5, 3)
    assert pod.all_restarts == 10


@pytest.mark.parametrize(
    ("changed", "has_been_ready"),
    [("2026-01-01T00:00:01Z", False), ("2026-01-01T00:00:30Z", True), (None, False)],
)
def test_a_failed_pod_was_ready_when_it_ceased_to_be_so_later(
    changed: str | None, *, has_been_ready: bool
) -> None:
    ready = {"type": "Ready", "status": "False", "lastTransitionTime": changed}
    raw = raw_pod(phase="Failed", startTime=CREATED, conditions=[ready])

    assert parse_pod(raw).has_been_ready is has_been_ready
    assert parse_pod(slim_pod(raw)) == parse_pod(raw)
    assert not parse_pod(raw_pod(phase="Running", conditions=[ready])).has_been_ready


_REASONS = st.sampled_from(["", "ErrImagePull", "CrashLoopBackOff", "ContainerCreating", "Other"])
_STATES = st.sampled_from(
    [
        {},
        {"running": {"startedAt": CREATED}},
        {"terminated": {"exitCode": 1, "reason": "Error", "message": "x", "finishedAt": CREATED}},
        {"terminated": {"exitCode": 0, "reason": "Completed"}},
    ]
) | st.builds(lambda reason: {"waiting": {"reason": reason, "message": "m" * 2000}}, _REASONS)
_CONTAINERS = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("abc"), "restartCount": st.integers(0, 3), "image": st.just("i")},
        optional={"ready": st.booleans(), "state": _STATES, "lastState": _STATES},
    ),
    max_size=2,
)
_CONDITIONS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["Ready", "PodScheduled", "DisruptionTarget", "Initialized"]),
            "status": st.sampled_from(["True", "False"]),
        },
        optional={
            "reason": st.just("Unschedulable"),
            "message": st.just("0/3 nodes"),
            "lastTransitionTime": st.sampled_from([CREATED, "2026-01-01T00:00:30Z"]),
        },
    ),
    max_size=3,
    unique_by=lambda entry: entry["type"],
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "phase": st.sampled_from(["Pending", "Running", "Failed", "Succeeded", "Unknown"]),
            "reason": st.just("NodeAffinity"),
            "message": st.just("refused"),
            "startTime": st.just(CREATED),
            "conditions": _CONDITIONS,
            "containerStatuses": _CONTAINERS,
            "initContainerStatuses": _CONTAINERS,
        },
    )
)
def test_what_is_kept_of_a_pod_is_all_that_is_read(status: Json) -> None:
    raw = raw_pod(**status)
    raw["spec"] = {"initContainers": [{"name": "a", "restartPolicy": "Always"}, {"name": "b"}]}

    assert parse_pod(slim_pod(raw)) == parse_pod(raw)


def test_a_pod_that_is_about_to_be_evicted_says_so() -> None:
    target = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    raw = raw_pod(conditions=[target])

    assert parse_pod(raw).is_disruption_target
    assert parse_pod(slim_pod(raw)) == parse_pod(raw)


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("5", 5),
        ("-2147483648", -(2**31)),
        ("2147483648", 0),
        ("+7", 7),
        ("1.5", 0),
        ("", 0),
        ("9" * 10_000, 0),
        ("٣", 0),
    ],
)
def test_a_deletion_cost_is_an_int32_or_nothing(text: str, cost: int) -> None:
    assert parse_pod(with_cost(text)).deletion_cost == cost


@given(st.text())
def test_any_deletion_cost_can_be_read(text: str) -> None:
    assert -(2**31) <= parse_pod(with_cost(text)).deletion_cost < 2**31
