"""The machine of spec.steps: what each waits for, how it ends, how far the new pods may go."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kube_runtime.resource import Json, Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads.podset.resources import PodSet, PodSetStatus
from workloads.rollout.evidence import Evidence, JobOutcome, JobState, Measurement
from workloads.rollout.fleet import Fleet
from workloads.rollout.hook_jobs import job_body, outcome_of
from workloads.rollout.plan.gate import meets
from workloads.rollout.plan.steps import HookJob, limit, next_step, seconds_to_next_look, wanted
from workloads.rollout.prometheus import read_answer
from workloads.rollout.resources import Rollout, RolloutStatus
from workloads.rollout.standing import Held, KnownGood, StepState, StepStatus
from workloads.rollout.steps import GateStep, JobStep, Operator, parse_steps

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = {"matchLabels": {"app": "web"}}
GATE: Json = {
    "gate": {
        "prometheus": "http://prometheus",
        "query": "up",
        "threshold": {"operator": "<", "value": 2},
        "forSeconds": 20,
        "intervalSeconds": 10,
        "failureLimit": 1,
    }
}
JOB: Json = {"job": {"template": {"spec": {"template": {}}}}}


def podset(name: str, count: int, *, available: int | None = None) -> PodSet:
    ready = count if available is None else available
    status = PodSetStatus(replicas=count, available_replicas=ready, observed_generation=1)
    return PodSet(
        key=Key("default", name),
        uid=Uid(name),
        replicas=count,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template={},
        annotations={"levelset.dev/revision": "2"},
        status=status,
    )


def rollout(*steps: Json, at: StepStatus | None = None, replicas: int = 4, **more: Any) -> Rollout:
    return Rollout(
        key=Key("default", "web"),
        uid=Uid("owner"),
        replicas=replicas,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template={},
        steps=parse_steps(list(steps)),
        status=RolloutStatus(known_good=KnownGood("old", 1), step=at),
        **more,
    )


def fleet(new: int, old: int, *, available: int | None = None) -> Fleet:
    return Fleet(podset("new", new, available=available), (podset("old", old),))


def at(index: int, type_: str, state: StepState, **more: Any) -> StepStatus:
    return StepStatus("new", index, type_, state, **({"since": NOW} | more))


def judged(
    obj: Rollout, pods: Fleet, evidence: Evidence | None = None, *, seconds: float = 0
) -> StepStatus:
    step = next_step(obj, pods, evidence=evidence, now=NOW + timedelta(seconds=seconds))
    assert step is not None
    return step


@pytest.mark.parametrize(
    ("steps", "index", "expected"),
    [
        ([JOB, {"replicas": 1}], 0, 0),
        ([JOB, {"replicas": 1}], 1, 1),
        ([{"replicas": 1}, {"pause": {}}], 1, 1),
        ([{"replicas": "30%"}], 0, 2),
        ([{"replicas": 9}], 0, 4),
        ([{"replicas": 3}, {"replicas": 1}], 1, 3),
    ],
)
def test_the_step_says_how_many_new_pods_there_may_be(
    steps: list[Json], index: int, expected: int
) -> None:
    obj = rollout(*steps, at=at(index, "", StepState.PROGRESSING))

    assert limit(obj, fleet(0, 4)) == expected


def test_a_revision_that_has_not_begun_is_at_its_first_step() -> None:
    assert limit(rollout({"replicas": 1}), Fleet(None, (podset("old", 4),))) == 1


def test_after_the_last_step_there_is_no_limit() -> None:
    assert limit(rollout(JOB, at=at(1, "", StepState.DONE)), fleet(0, 4)) == 4


@pytest.mark.parametrize(
    "status",
    [
        RolloutStatus(),
        RolloutStatus(known_good=KnownGood("new", 2)),
        RolloutStatus(
            known_good=KnownGood("old", 1), held=Held("bad", 3, "hash", "GateFailed", "why")
        ),
    ],
)
def test_the_first_revision_and_the_good_one_have_no_steps(status: RolloutStatus) -> None:
    obj = replace(rollout({"replicas": 1}), status=status)

    assert next_step(obj, fleet(0, 4), evidence=None, now=NOW) is None
    assert limit(obj, fleet(0, 4)) == 4


def test_another_revision_begins_at_the_first_step() -> None:
    stale = StepStatus("other", 1, "Pause", StepState.PAUSED, since=NOW)

    step = judged(rollout({"replicas": 1}, {"pause": {}}, at=stale), fleet(0, 4))

    assert (step.podset, step.index, step.state) == ("new", 0, StepState.PROGRESSING)


@pytest.mark.parametrize(
    ("pods", "index"), [(fleet(2, 3, available=1), 0), (fleet(2, 3), 0), (fleet(2, 2), 1)]
)
def test_a_size_is_reached_when_pods_are_available_and_old_ones_went(
    pods: Fleet, index: int
) -> None:
    step = judged(rollout({"replicas": 2}, {"pause": {}}), pods)

    assert step.index == index


@pytest.mark.parametrize(("seconds", "index"), [(0, 0), (9, 0), (10, 1)])
def test_a_pause_takes_its_time(seconds: int, index: int) -> None:
    obj = rollout({"pause": {"seconds": 10}}, {"pause": {}}, at=at(0, "Pause", StepState.PAUSED))

    assert judged(obj, fleet(0, 4), seconds=seconds).index == index


def test_a_pause_without_a_time_waits_for_a_word_after_it_began() -> None:
    paused = at(0, "Pause", StepState.PAUSED, resume="new/0")
    obj = rollout({"pause": {}}, at=paused, annotations={"levelset.dev/resume-step": "new/0"})
    said = replace(obj, annotations={"levelset.dev/resume-step": "new/0/again"})
    of_another = replace(obj, annotations={"levelset.dev/resume-step": "new/1"})

    assert judged(obj, fleet(0, 4), seconds=9999).state is StepState.PAUSED
    assert judged(of_another, fleet(0, 4)).state is StepState.PAUSED
    assert judged(said, fleet(0, 4)).state is StepState.DONE


def test_a_paused_rollout_stays_at_its_step() -> None:
    paused = at(0, "Pause", StepState.PAUSED)
    obj = rollout({"pause": {"seconds": 1}}, at=paused, is_paused=True)

    assert judged(obj, fleet(0, 4), seconds=9) == paused
    assert wanted(obj, fleet(0, 4), NOW) is None


def test_a_gate_must_be_met_for_long_enough() -> None:
    obj, good = rollout(GATE), Measurement((1.0,))
    states = []
    for seconds in (0, 10, 20):
        step = judged(obj, fleet(0, 4), good, seconds=seconds)
        obj = replace(obj, status=replace(obj.status, step=step))
        states.append(step.state)

    assert states == [StepState.MEASURING, StepState.MEASURING, StepState.DONE]


def test_a_miss_starts_the_time_anew_and_one_too_many_fails() -> None:
    measuring = at(0, "Gate", StepState.MEASURING, passing_since=NOW)
    obj = rollout(GATE, at=measuring)

    missed = judged(obj, fleet(0, 4), Measurement((3.0,)), seconds=10)
    obj = replace(obj, status=replace(obj.status, step=missed))
    failed = judged(obj, fleet(0, 4), Measurement(problem="no result"), seconds=20)

    assert (missed.state, missed.failures, missed.passing_since) == (StepState.MEASURING, 1, None)
    assert missed.message == "measured 3, expected < 2 (1 of 2 misses)"
    assert failed.state is StepState.FAILED
    assert "no result" in failed.message


@pytest.mark.parametrize(("seconds", "is_due"), [(9, False), (10, True)])
def test_a_gate_is_asked_once_in_its_interval(seconds: int, *, is_due: bool) -> None:
    obj = rollout(GATE, at=at(0, "Gate", StepState.MEASURING, measured_at=NOW))

    asked = wanted(obj, fleet(0, 4), NOW + timedelta(seconds=seconds))

    assert isinstance(asked, GateStep) is is_due


@pytest.mark.parametrize(
    ("operator", "values", "is_met"),
    [
        ("<", (1.0,), True),
        ("<", (2.0,), False),
        ("<=", (2.0,), True),
        (">", (3.0, 1.0), False),
        (">=", (2.0, 3.0), True),
        ("==", (2.0,), True),
        ("!=", (3.0,), True),
        ("!=", (float("nan"),), False),
        ("!=", (), False),
    ],
)
def test_every_value_of_an_answer_must_meet_the_threshold(
    operator: str, values: tuple[float, ...], *, is_met: bool
) -> None:
    gate = GateStep("http://p", "up", Operator(operator), 2.0)

    assert meets(gate, Measurement(values)) is is_met


@pytest.mark.parametrize(
    ("body", "values", "problem"),
    [
        (b'{"data":{"resultType":"scalar","result":[1,"2.5"]}}', (2.5,), ""),
        (
            b'{"data":{"resultType":"vector","result":[{"value":[1,"1"]},{"value":[1,"2"]}]}}',
            (1.0, 2.0),
            "",
        ),
        (b'{"data":{"resultType":"vector","result":[]}}', (), "no result"),
        (b'{"data":{"resultType":"matrix","result":[]}}', (), "neither a number nor a vector"),
        (b'{"data":{"resultType":"scalar","result":[1,"x"]}}', (), "none of Prometheus's"),
        (b"[]", (), "none of Prometheus's"),
        (b"<html>", (), "none of Prometheus's"),
    ],
)
def test_an_answer_is_numbers_or_a_problem(
    body: bytes, values: tuple[float, ...], problem: str
) -> None:
    found = read_answer(body)

    assert found.values == values
    assert problem in found.problem


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (None, StepState.RUNNING),
        (JobOutcome(JobState.RUNNING), StepState.RUNNING),
        (JobOutcome(JobState.SUCCEEDED), StepState.DONE),
        (JobOutcome(JobState.FAILED, "why"), StepState.FAILED),
    ],
)
def test_a_job_decides_by_its_end(outcome: JobOutcome | None, state: StepState) -> None:
    assert judged(rollout(JOB), fleet(0, 4), outcome).state is state


def test_a_job_has_one_name_for_a_revision_and_a_step_and_another_after_a_retry() -> None:
    again = rollout(JOB, annotations={"levelset.dev/retry": "1"})

    asked, after = (wanted(obj, fleet(0, 4), NOW) for obj in (rollout(JOB), again))

    assert isinstance(asked, HookJob)
    assert isinstance(after, HookJob)
    assert asked.name == "new-r2-s0"
    assert after.name != asked.name
    assert wanted(rollout(JOB), fleet(0, 4), NOW) == asked


def test_a_job_belongs_to_its_podset_and_has_an_end() -> None:
    template = {"metadata": {"labels": {"a": "b"}, "name": "x"}, "spec": {"template": {}}}
    job = HookJob("web-r1-s0", podset("web", 1), JobStep(template, timeout_seconds=7))

    body = job_body(job)

    assert body["metadata"]["name"] == "web-r1-s0"
    assert body["metadata"]["labels"] == {"a": "b"}
    assert body["metadata"]["ownerReferences"][0]["uid"] == "web"
    assert body["spec"] == {"activeDeadlineSeconds": 7, "template": {}}


def test_a_job_is_at_its_end_when_a_condition_says_so() -> None:
    failed = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "late"}
    job: Json = {"metadata": {"name": "j"}, "status": {"failed": 1}}

    assert outcome_of(job).state is JobState.RUNNING
    job["status"]["conditions"] = [{"type": "Complete", "status": "False"}, failed]
    assert outcome_of(job) == JobOutcome(JobState.FAILED, "Job j: DeadlineExceeded: late")


@pytest.mark.parametrize(
    ("step", "spec", "seconds", "expected"),
    [
        (at(0, "Pause", StepState.PAUSED), {"pause": {"seconds": 10}}, 4, 6.05),
        (at(0, "Pause", StepState.PAUSED), {"pause": {}}, 4, None),
        (at(0, "Gate", StepState.MEASURING, measured_at=NOW), GATE, 4, 6.05),
        (at(0, "Job", StepState.RUNNING), JOB, 0, 1),
        (at(0, "Job", StepState.RUNNING), JOB, 9999, 15),
        (at(0, "Job", StepState.FAILED), JOB, 0, None),
        (at(1, "", StepState.DONE), JOB, 0, None),
    ],
)
def test_what_passes_by_time_is_looked_at_in_time(
    step: StepStatus, spec: Json, seconds: int, expected: float | None
) -> None:
    found = seconds_to_next_look(rollout(spec), step, NOW + timedelta(seconds=seconds))

    assert found == expected
