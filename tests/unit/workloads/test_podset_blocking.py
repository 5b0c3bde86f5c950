"""What is in the way of a PodSet's pods, read from pods and from refused requests."""

from datetime import UTC, datetime, timedelta

import pytest

from kube_runtime.errors import Unreachable, error_from_status
from kube_runtime.resource import Json
from workloads.blocked_by import MAX_MESSAGE_CHARS, BlockedBy
from workloads.pod_troubles import Trouble, trouble_of
from workloads.pods import Pod, parse_pod
from workloads.podset.blocking import blocked_by_pods, blocked_by_refusal, reason_of_refusal
from workloads.podset.slim import slim_pod

NOW = datetime(2026, 1, 1, tzinfo=UTC)
LATER = NOW + timedelta(minutes=1)


def raw_pod(name: str = "a", created: str = "2026-01-01T00:00:00Z", **status: object) -> Json:
    metadata = {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": created}
    return {"metadata": metadata, "spec": {}, "status": status}


def waiting(reason: str, message: str = "why", **more: object) -> Json:
    state = {"waiting": {"reason": reason, "message": message}}
    return raw_pod(containerStatuses=[{"name": "web", "ready": False, "state": state, **more}])


def crashing(restarts: int, **state: object) -> Json:
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": "password=x"}}
    entry = {"name": "web", "restartCount": restarts, "state": state, "lastState": ended}
    return raw_pod(phase="Running", containerStatuses=[entry])


def pod(name: str, second: int, reason: str, message: str = "m") -> Pod:
    parsed = parse_pod(raw_pod(name, f"2026-01-01T00:00:{second:02}Z"))
    trouble = Trouble(reason, message)  # type: ignore[arg-type]  # as text in the table
    return Pod(name=name, uid=parsed.uid, labels={}, created=parsed.created, trouble=trouble)


@pytest.mark.parametrize(
    ("raw", "reason", "text"),
    [
        (waiting("ErrImagePull"), "ImagePull", "container web: ErrImagePull: why"),
        (waiting("ImagePullBackOff"), "ImagePull", "ImagePullBackOff"),
        (waiting("InvalidImageName"), "ImagePull", "InvalidImageName"),
        (waiting("ErrImageNeverPull"), "ImagePull", "ErrImageNeverPull"),
        (waiting("CreateContainerConfigError"), "TemplateInvalid", "why"),
        (waiting("RunContainerError"), "CrashLoop", "RunContainerError: why"),
        (
            crashing(1, waiting={"reason": "CrashLoopBackOff", "message": "back-off 10s"}),
            "CrashLoop",
            "container web: Error, exit code 1, 1 restarts",
        ),
        (crashing(2, running={}), "CrashLoop", "container web: Error, exit code 1, 2 restarts"),
        (
            raw_pod(
                conditions=[
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/3 nodes are available",
                    }
                ]
            ),
            "Unschedulable",
            "0/3 nodes are available",
        ),
        (
            raw_pod(phase="Succeeded"),
            "CrashLoop",
            "ended by itself",
        ),
        (
            raw_pod(phase="Failed", reason="NodeAffinity", message="Pod was rejected"),
            "Admission",
            "NodeAffinity: Pod was rejected",
        ),
        (
            raw_pod(
                phase="Failed",
                containerStatuses=[
                    {
                        "name": "web",
                        "state": {"terminated": {"exitCode": 3, "reason": "Error"}},
                    }
                ],
            ),
            "CrashLoop",
            "container web: Error, exit code 3, 0 restarts",
        ),
    ],
)
def test_a_pod_says_why_it_is_not_ready(raw: Json, reason: str, text: str) -> None:
    trouble = trouble_of(raw)

    assert trouble is not None
    assert trouble.reason == reason
    assert text in trouble.message
    assert "password" not in trouble.message
    assert parse_pod(slim_pod(raw)).trouble == trouble


@pytest.mark.parametrize(
    "raw",
    [
        raw_pod(),
        waiting("ContainerCreating"),
        crashing(1, running={}),
        raw_pod(
            initContainerStatuses=[
                {"name": "init", "restartCount": 3, "state": {"terminated": {"exitCode": 0}}}
            ]
        ),
    ],
)
def test_a_pod_that_may_need_its_time_says_nothing(raw: Json) -> None:
    assert trouble_of(raw) is None


def test_a_pod_that_is_ready_is_in_no_trouble() -> None:
    raw = crashing(9, running={})
    raw["status"]["conditions"] = [{"type": "Ready", "status": "True"}]

    assert parse_pod(raw).trouble is None


@pytest.mark.parametrize(
    ("code", "message", "reason"),
    [
        (403, 'pods "web-x" is forbidden: exceeded quota: few, requested: pods=1', "Quota"),
        (403, 'pods "web-x" is forbidden: violates PodSecurity "restricted"', "Admission"),
        (403, 'pods is forbidden: User "x" cannot create resource "pods"', "Admission"),
        (400, 'admission webhook "w" denied the request: unsigned', "Admission"),
        (500, 'failed calling webhook "w": connection refused', "Admission"),
        (
            422,
            'Pod "web-x" is invalid: spec.containers[0].image: Required value',
            "TemplateInvalid",
        ),
        (413, "Request entity too large: limit is 3145728", "TemplateInvalid"),
        (500, "etcdserver: request is too large", "TemplateInvalid"),
        (400, 'Pod in version "v1" cannot be handled as a Pod', "TemplateInvalid"),
        (500, "etcdserver: leader changed", None),
        (429, "too many requests", None),
    ],
)
def test_a_refused_creation_is_told_apart(code: int, message: str, reason: str | None) -> None:
    assert reason_of_refusal(error_from_status({"message": message}, code=code)) == reason


def test_an_answer_that_did_not_come_is_no_refusal() -> None:
    assert reason_of_refusal(Unreachable("reset")) is None


def test_the_first_evidence_is_the_oldest_pods() -> None:
    pods = [pod("b", 2, "ImagePull"), pod("c", 1, "ImagePull", "first"), pod("a", 3, "CrashLoop")]

    found = blocked_by_pods([*pods[:2]], old=None, now=NOW)

    assert found == BlockedBy("ImagePull", "first", pod="c", count=2, since=NOW)
    assert blocked_by_pods([], old=found, now=NOW) is None


def test_what_can_be_acted_upon_comes_first_but_a_reason_stays() -> None:
    pods = [pod("a", 1, "Unschedulable"), pod("b", 2, "CrashLoop")]

    first = blocked_by_pods(pods, old=None, now=NOW)
    old = BlockedBy("Unschedulable", "x", since=NOW)
    second = blocked_by_pods(pods, old=old, now=LATER)

    assert first is not None
    assert second is not None
    assert (first.reason, second.reason, second.since) == ("CrashLoop", "Unschedulable", NOW)


def test_a_refusal_counts_the_missing_and_keeps_its_date() -> None:
    old = BlockedBy("Quota", "full", since=NOW)

    assert blocked_by_refusal("Quota", "fuller", missing=3, old=old, now=LATER) == BlockedBy(
        "Quota", "fuller", count=3, since=NOW
    )


def test_a_message_is_bounded_and_survives_the_way_through_the_api() -> None:
    long = BlockedBy("Admission", "x" * 5000, pod="p", count=2, since=NOW)

    raw = long.to_json()

    assert len(raw["message"]) == MAX_MESSAGE_CHARS
    assert BlockedBy.from_json(raw) == BlockedBy("Admission", raw["message"], "p", 2, NOW)
    assert BlockedBy.from_json({"reason": "New"}) is None
    assert BlockedBy.from_json(None) is None
