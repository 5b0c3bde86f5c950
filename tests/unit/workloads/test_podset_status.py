"""What a PodSet's status says."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from kube_runtime.conditions import find_condition, is_true
from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import InvalidSelector, LabelSelector
from workloads.blocked_by import BlockedBy
from workloads.pod_troubles import Trouble
from workloads.pods import Pod
from workloads.podset.backoff import Backoff
from workloads.podset.resources import PodSet, PodSetStatus
from workloads.podset.status import Failure, invalid_status, next_status

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = {"matchLabels": {"app": "web"}}
PODSET = PodSet(
    key=Key("default", "web"),
    uid=Uid("owner"),
    replicas=2,
    selector=LabelSelector.parse(SELECTOR),
    raw_selector=SELECTOR,
    template={"metadata": {"labels": {"app": "web", "tier": "front"}}},
    generation=4,
)
READY = Pod(
    name="a", uid=Uid("a"), labels={"app": "web", "tier": "front"}, phase="Running", ready_since=NOW
)


def status(*pods: Pod, podset: PodSet = PODSET, **more: object) -> PodSetStatus:
    arguments = {"failure": None, "now": NOW} | more
    return next_status(podset, pods, **arguments)  # type: ignore[arg-type]  # by name


def test_pods_are_counted_by_what_they_are() -> None:
    bare = replace(READY, labels={"app": "web"}, ready_since=None)
    ended = replace(READY, phase="Failed")
    going = replace(READY, is_deleting=True)

    counted = status(READY, bare, ended, going)

    assert (counted.replicas, counted.ready_replicas, counted.available_replicas) == (2, 1, 1)
    assert (counted.fully_labeled_replicas, counted.terminating_replicas) == (1, 1)
    assert (counted.observed_generation, counted.selector) == (4, "app=web")


def test_a_pod_is_available_only_after_min_ready_seconds() -> None:
    slow = replace(PODSET, min_ready_seconds=10)

    assert status(READY, podset=slow).available_replicas == 0
    assert status(READY, podset=slow, now=NOW + timedelta(seconds=10)).available_replicas == 1


def test_all_pods_available_is_ready() -> None:
    conditions = status(READY, replace(READY, uid=Uid("b"))).conditions

    assert is_true(conditions, "Ready")
    assert find_condition(conditions, "Reconciling") is None


def test_missing_pods_are_being_reconciled() -> None:
    conditions = status(READY).conditions

    assert not is_true(conditions, "Ready")
    assert is_true(conditions, "Reconciling")


def test_a_failure_is_told_kept_up_to_date_and_forgotten() -> None:
    first = status(failure=Failure("FailedCreate", "quota: 1 of 1"))
    podset = replace(PODSET, status=first)
    second = status(podset=podset, failure=Failure("FailedCreate", "quota: 2 of 2"))
    third = status(podset=replace(PODSET, status=second))

    entry = find_condition(second.conditions, "ReplicaFailure")
    assert entry is not None
    assert (entry.reason, entry.message) == ("FailedCreate", "quota: 2 of 2")
    assert find_condition(third.conditions, "ReplicaFailure") is None


def test_a_status_that_says_the_same_is_equal_later() -> None:
    first = status(READY)
    parsed = PodSetStatus.from_json(first.to_json())

    later = status(READY, podset=replace(PODSET, status=parsed), now=NOW + timedelta(minutes=1))

    assert later.to_json() == first.to_json()


def test_pods_that_must_give_way_and_restarts_are_counted() -> None:
    on_node = replace(READY, node="n1", all_restarts=2)
    evicted = replace(READY, is_disruption_target=True, all_restarts=1)
    not_ready = replace(READY, node="n1", ready_since=None)

    counted = status(READY, on_node, evicted, not_ready, disrupted_nodes=frozenset({"n1"}))

    assert (counted.disrupted_replicas, counted.restarts) == (2, 3)


def test_pods_that_failed_at_once_are_told_in_their_nodes_words() -> None:
    refused = Trouble("Admission", "NodeAffinity: Pod was rejected")
    failed = replace(READY, phase="Failed", ready_since=None, trouble=refused)
    until = NOW + timedelta(seconds=3)

    told = status(failed, backoff=Backoff((failed,), until))

    entry = find_condition(told.conditions, "ReplicaFailure")
    assert entry is not None
    assert entry.reason == "PodsFailed"
    assert "NodeAffinity: Pod was rejected" in entry.message
    assert (told.failed_replicas, told.backoff_until) == (1, until)
    assert told.blocked_by == BlockedBy(
        "Admission", "NodeAffinity: Pod was rejected", pod="a", since=NOW
    )
    assert PodSetStatus.from_json(told.to_json()) == told


def test_a_refused_creation_blocks_all_that_are_missing() -> None:
    failure = Failure("FailedCreate", "exceeded quota: few", "Quota")

    told = status(podset=replace(PODSET, replicas=3), failure=failure)

    assert told.blocked_by == BlockedBy("Quota", "exceeded quota: few", count=3, since=NOW)


def test_an_unusable_selector_stalls() -> None:
    told = invalid_status(
        PodSetStatus(), InvalidSelector("spec.selector: bad"), generation=2, now=NOW
    )

    assert is_true(told.conditions, "Stalled")
    assert told.observed_generation == 2
