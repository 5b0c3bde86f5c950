"""The journey of a change is read from times, conditions, states and events."""

from datetime import timedelta

import pytest

from kube_runtime.resource import Json
from levelset.trace.documents import document_of
from levelset.trace.events import pull_seconds
from levelset.trace.model import Journey, Milestone, PodJourney, Progress, Stage
from tests.unit.levelset.trace.made import (
    CASES,
    PULLED,
    SERVICE,
    START,
    UNDER_WAY,
    at,
    condition,
    endpoints,
    event,
    pod,
    podset,
    rollout,
    traced,
)


def only(journey: Journey) -> PodJourney:
    (found,) = journey.pods
    return found


def stage(journey: PodJourney, milestone: Milestone) -> Stage:
    return next(each for each in journey.stages if each.milestone is milestone)


def took(journey: PodJourney) -> dict[str, float | None]:
    return {each.milestone.value: each.seconds for each in journey.stages}


def test_every_stage_lasts_from_the_one_before() -> None:
    journey = traced(
        pods=[pod()],
        events=[event("Pulled", PULLED)],
        services=[SERVICE],
        slices=[endpoints("web-b-x")],
    )

    assert took(only(journey)) == {
        "template changed": None,
        "PodSet created": 0,
        "pod created": 1,
        "scheduled": 0,
        "sandbox ready": 1,
        "image pulled": 7.5,
        "containers started": 1,
        "ready": 3,
        "in the EndpointSlice": 1,
    }
    assert journey.seconds == 14
    assert journey.changed_by == "kubectl"
    assert journey.is_complete
    slowest = only(journey).slowest
    assert slowest is not None
    assert (slowest.milestone, slowest.evidence) == (
        Milestone.IMAGE_PULLED,
        "pulled 38 MB in 7.5 s",
    )


def test_an_image_that_was_there_took_no_time() -> None:
    said = 'Container image "web:2" already present on machine'

    journey = traced(pods=[pod()], events=[event("Pulled", said, moment=2)])

    pulled = stage(only(journey), Milestone.IMAGE_PULLED)
    assert (pulled.seconds, pulled.evidence) == (0, "the image was on the node already")


def test_a_pull_whose_event_has_expired_is_known_to_be_over() -> None:
    pulled = stage(only(traced(pods=[pod()])), Milestone.IMAGE_PULLED)

    assert (pulled.progress, pulled.at, pulled.seconds) == (Progress.REACHED, None, None)


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ('Successfully pulled image "a" in 345ms (345ms including waiting).', 0.345),
        ('Successfully pulled image "a" in 1m2.5s (1m3s including waiting).', 63),
        ('Successfully pulled image "a" in 2.25s', 2.25),
        ('Container image "a" already present on machine', None),
    ],
)
def test_how_long_a_pull_took_is_in_its_message(message: str, seconds: float | None) -> None:
    assert pull_seconds(message) == seconds


@pytest.mark.parametrize("name", CASES)
def test_the_stage_that_is_stuck_is_named_with_its_evidence(name: str) -> None:
    stuck, evidence, said = CASES[name]

    journey = traced(now=40, rollout=rollout(**UNDER_WAY), pods=[stuck], events=[evidence])

    waits = only(journey).waits
    assert waits is not None
    assert (waits.milestone.value, waits.evidence) == (name, said)
    assert waits.seconds is not None
    assert waits.seconds > 25
    assert only(journey).seconds == 40


def test_a_crash_loop_keeps_a_pod_from_being_ready() -> None:
    looping = {
        "restartCount": 3,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}},
        "lastState": {
            "terminated": {
                "exitCode": 2,
                "reason": "Error",
                "startedAt": at(5),
                "message": "s3cret",
            }
        },
    }

    journey = traced(rollout=rollout(**UNDER_WAY), pods=[pod(ready=None, container=looping)])

    waits = only(journey).waits
    assert waits is not None
    assert waits.milestone is Milestone.READY
    assert waits.evidence == (
        "container web: CrashLoopBackOff: back-off 40s; it ended with exit code 2 (Error)"
    )
    assert "s3cret" not in str(document_of(journey))


def test_an_init_container_that_runs_is_a_stage_of_its_own() -> None:
    waiting = pod(started=None, ready=None, initContainers=[{"name": "migrate"}])
    waiting["status"]["initContainerStatuses"] = [{"name": "migrate", "state": {"running": {}}}]
    waiting["status"]["conditions"].append(condition("Initialized", None))

    waits = only(traced(rollout=rollout(**UNDER_WAY), pods=[waiting])).waits

    assert waits is not None
    assert waits.milestone is Milestone.INITIALIZED
    assert waits.evidence == "init container migrate: it runs"


def test_a_ready_pod_that_gets_no_traffic_is_stuck() -> None:
    waits = only(traced(pods=[pod()], services=[SERVICE])).waits

    assert waits is not None
    assert waits.milestone is Milestone.IN_ENDPOINT_SLICE


def test_a_slice_that_was_written_much_later_does_not_tell_when() -> None:
    journey = traced(pods=[pod()], services=[SERVICE], slices=[endpoints("web-b-x", written=900)])

    serving = stage(only(journey), Milestone.IN_ENDPOINT_SLICE)
    assert (serving.progress, serving.at) == (Progress.REACHED, None)


def test_what_was_seen_coming_into_the_slice_is_known() -> None:
    journey = traced(
        pods=[pod()],
        services=[SERVICE],
        slices=[endpoints("web-b-x", written=900)],
        seen_serving={"web-b-x": START + timedelta(seconds=15)},
    )

    assert stage(only(journey), Milestone.IN_ENDPOINT_SLICE).seconds == 2


def test_without_a_service_there_is_no_such_stage() -> None:
    journey = traced(pods=[pod()])

    assert Milestone.IN_ENDPOINT_SLICE not in {each.milestone for each in only(journey).stages}
    assert "no Service selects these pods, so they are in no EndpointSlice" in journey.notes


def test_the_slowest_and_the_median_pod_are_found() -> None:
    pods = [
        pod(name, started=seconds, ready=seconds + 1)
        for name, seconds in (("a", 3.0), ("b", 12.0), ("c", 5.0))
    ]

    journey = traced(rollout=rollout({"replicas": 3}), pods=pods)

    assert journey.slowest is not None
    assert journey.median is not None
    assert (journey.slowest.pod, journey.median.pod) == ("b", "c")


def test_a_pod_that_had_to_wait_for_its_turn_says_so() -> None:
    pods = [pod("first", created=0), pod("second", created=6, scheduled=6, sandbox=7)]

    late = next(each for each in traced(pods=pods).pods if each.pod == "second")

    assert stage(late, Milestone.POD_CREATED).seconds == 6
    assert stage(late, Milestone.POD_CREATED).evidence.startswith("1 came before it")


def test_a_stuck_pod_comes_before_one_that_was_slow() -> None:
    pods = [pod("slow", started=60, ready=70), pod("stuck", created=60, ready=None)]

    journey = traced(now=75, rollout=rollout(**UNDER_WAY), pods=pods)

    assert journey.slowest is not None
    assert journey.slowest.pod == "stuck"


def test_a_pod_that_came_after_the_change_was_complete_does_not_count() -> None:
    later = pod("later", created=900, scheduled=900, sandbox=900, started=930, ready=940)

    journey = traced(now=1000, pods=[pod("first"), later])

    assert journey.slowest is not None
    assert journey.slowest.pod == "first"
    (apart,) = [each for each in journey.pods if not each.is_of_change]
    assert (apart.pod, apart.seconds) == ("later", 40)


def test_a_later_write_by_the_same_hand_hides_the_time_of_the_change() -> None:
    journey = traced(rollout=rollout(changed=500), podset=podset(3), pods=[pod(created=4)])

    assert journey.changed_at == START + timedelta(seconds=3)
    assert "not recorded any more" in journey.notes[0]


def test_going_back_takes_the_old_podset_up_again() -> None:
    old = podset(-3000, annotations={"levelset.dev/revision-history": "1"})

    journey = traced(podset=old, pods=[pod()])

    assert journey.changed_at == START
    reused = stage(only(journey), Milestone.PODSET_CREATED)
    assert reused.evidence == "it was there from an earlier revision"


@pytest.mark.parametrize(
    ("spec", "status", "said"),
    [
        ({}, {"observedGeneration": 1}, "the controller has not looked at the change yet"),
        ({"paused": True}, {}, "the rollout is paused"),
        (
            {},
            {"blockedBy": {"reason": "TemplateInvalid", "message": "bad volume"}},
            "blocked by TemplateInvalid: bad volume",
        ),
        (
            {"steps": [{"job": {}}]},
            {"step": {"index": 0, "podSet": "web-b", "message": "runs"}},
            "step 1 of 1, job: runs",
        ),
        (
            {},
            {
                "conditions": [
                    {
                        "type": "Progressing",
                        "status": "False",
                        "reason": "PodSetCreateError",
                        "message": "refused",
                    }
                ]
            },
            "PodSetCreateError: refused",
        ),
    ],
)
def test_without_a_podset_it_is_said_why(spec: Json, status: Json, said: str) -> None:
    raw = rollout(spec, **({"updatedReplicas": 0} | status))

    journey = traced(rollout=raw, podset=None)

    (waits,) = [each for each in journey.before if each.progress is Progress.WAITED_FOR]
    assert waits.milestone is Milestone.PODSET_CREATED
    assert said in waits.evidence


def test_without_pods_the_podsets_refusal_is_the_reason() -> None:
    refused = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "exceeded quota",
    }
    raw = rollout(updatedReplicas=0, availableReplicas=0)

    journey = traced(rollout=raw, podset=podset(conditions=[refused]))

    assert journey.hold == "FailedCreate: exceeded quota"
    assert journey.before[-1].evidence == journey.hold


def test_the_document_has_names_and_numbers() -> None:
    document = document_of(traced(pods=[pod()], events=[event("Pulled", PULLED)]))

    assert document["changedAt"] == at(0)
    assert document["slowestPod"] == "web-b-x"
    stages = {each["name"]: each for each in document["pods"][0]["stages"]}
    assert stages["ImagePulled"]["seconds"] == 7.5
    assert stages["Ready"] == {"name": "Ready", "state": "Reached", "at": at(13), "seconds": 3.0}
