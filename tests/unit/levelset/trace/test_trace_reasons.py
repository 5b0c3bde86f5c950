"""Why something does not go on is told by the first reason that applies."""

from typing import Any

import pytest

from kube_runtime.resource import Json
from levelset.trace.model import Milestone
from tests.unit.levelset.trace.made import (
    UNDER_WAY,
    at,
    condition,
    event,
    pod,
    podset,
    rollout,
    traced,
)

HELD = {"revision": 2, "podSet": "web-b", "reason": "CrashLoop", "message": "exit code 1"}
QUOTA = {"reason": "Quota", "message": "exceeded quota"}
BACK_OFF = {"failedReplicas": 3, "backoffUntil": at(60)}


@pytest.mark.parametrize(
    ("spec", "status", "podset_status", "pods", "said"),
    [
        ({"paused": True}, {"held": HELD}, {}, 1, "revision 2 is held: CrashLoop: exit code 1"),
        ({"paused": True}, {"blockedBy": QUOTA}, {}, 1, "the rollout is paused"),
        ({}, {"blockedBy": QUOTA}, {}, 1, "blocked by Quota: exceeded quota"),
        (
            {},
            {},
            BACK_OFF,
            0,
            "3 pods failed before they were ready; the next comes at 12:01:00",
        ),
        (
            {"replicas": 4},
            {},
            {},
            2,
            "waits for new pods to be available before more old ones go (strategy.rollingUpdate)",
        ),
        ({}, {"replicas": 3}, {}, 1, "old pods that are still to go: 2"),
        ({}, {}, {}, 1, ""),
    ],
)
def test_what_holds_the_rollout_up_is_the_first_reason_that_applies(
    spec: Json, status: Json, podset_status: Json, pods: int, said: str
) -> None:
    journey = traced(
        rollout=rollout(spec, **(UNDER_WAY | status)),
        podset=podset(**podset_status),
        pods=[pod(f"web-b-{number}") for number in range(pods)],
    )

    assert journey.hold == said


def test_a_podset_that_may_not_have_pods_yet_waits_for_old_ones() -> None:
    empty = podset()
    empty["spec"]["replicas"] = 0

    assert traced(rollout=rollout(**UNDER_WAY), podset=empty).hold == (
        "waits for old pods to go (strategy)"
    )


def test_a_creation_that_was_refused_is_known_from_its_event() -> None:
    refused = event("FailedCreate", "denied by policy", uid="podset")
    raw = rollout(updatedReplicas=0, availableReplicas=0)

    assert traced(rollout=raw, events=[refused]).hold == "FailedCreate: denied by policy"


def evidence(milestone: Milestone, stuck: Json, *events: Json) -> str:
    journey = traced(rollout=rollout(**UNDER_WAY), pods=[stuck], events=list(events))
    waits = journey.pods[0].waits
    assert waits is not None
    assert waits.milestone is milestone
    return waits.evidence


def initialising(*statuses: Json) -> Json:
    stuck = pod(started=None, ready=None, initContainers=[{"name": "a"}, {"name": "b"}])
    stuck["status"]["initContainerStatuses"] = list(statuses)
    stuck["status"]["conditions"].append(condition("Initialized", None))
    return stuck


DONE = {"name": "a", "state": {"terminated": {"exitCode": 0}}}


@pytest.mark.parametrize(
    ("statuses", "said"),
    [
        (
            [{"name": "a", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "40s"}}}],
            "init container a: CrashLoopBackOff: 40s",
        ),
        (
            [DONE, {"name": "b", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}],
            "init container b: it ended with exit code 3 (Error)",
        ),
        (
            [DONE, {"name": "b", "state": {"waiting": {"reason": "PodInitializing"}}}],
            "init container b: it waits",
        ),
        ([DONE], ""),
    ],
)
def test_an_init_container_says_how_it_stands(statuses: list[Json], said: str) -> None:
    assert evidence(Milestone.INITIALIZED, initialising(*statuses)) == said


def test_a_pull_that_goes_on_is_told() -> None:
    pulling = event("Pulling", 'Pulling image "web:2"')
    creating = {"state": {"waiting": {"reason": "ContainerCreating"}}}

    stuck = pod(started=None, ready=None, container=creating)

    assert evidence(Milestone.IMAGE_PULLED, stuck, pulling) == 'Pulling image "web:2"'


def test_a_readiness_gate_is_named() -> None:
    gated = pod(ready=None, readinessGates=[{"conditionType": "example.com/load-balancer"}])

    assert evidence(Milestone.READY, gated) == (
        "readiness gate example.com/load-balancer is not True"
    )


@pytest.mark.parametrize(("count", "many"), [(1, "once"), (4, "4 times")])
def test_containers_that_were_started_again_are_told(count: int, many: str) -> None:
    again: dict[str, Any] = {
        "restartCount": count,
        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled", "startedAt": at(4)}},
    }

    assert evidence(Milestone.READY, pod(ready=None, container=again)) == (
        f"container web was started again {many}; it ended with exit code 137 (OOMKilled)"
    )
