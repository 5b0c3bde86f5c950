"""spec.steps against a real API server and a real Prometheus."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kube_runtime.conditions import format_time
from kube_runtime.resource import Json, controller_of, uid_of
from local_cluster.services.prometheus import Prometheus
from tests.contract.workloads.world import World, image_of
from workloads.names import JOBS, RESUME_STEP, ROLLOUTS

pytestmark = pytest.mark.contract

JOB = {
    "template": {
        "spec": {
            "backoffLimit": 0,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "migrate", "image": "migrate:1"}],
                }
            },
        }
    }
}


async def sizes(world: World) -> dict[str, int]:
    return {image_of(each): each["spec"]["replicas"] for each in await world.podsets()}


async def is_at(world: World, index: int, state: str) -> Json:
    """Wait until the rollout is at this step, in this state."""

    async def check() -> None:
        status = await world.status(ROLLOUTS)
        step = status.get("step") or {}
        assert (step.get("index"), step.get("state")) == (index, state), status

    await world.eventually(check)
    step: Json = (await world.status(ROLLOUTS))["step"]
    return step


async def is_held(world: World, reason: str) -> Json:
    async def check() -> None:
        status = await world.status(ROLLOUTS)
        assert (status.get("held") or {}).get("reason") == reason, status
        await world.has_condition(ROLLOUTS, "RolledBack", "True")

    await world.eventually(check, seconds=30)
    held: Json = (await world.status(ROLLOUTS))["held"]
    return held


def gate(prometheus: Prometheus, query: str, **more: Any) -> Json:
    threshold = {"operator": "<", "value": 0.5}
    base = {"prometheus": prometheus.url, "query": query, "threshold": threshold}
    return {"gate": base | {"intervalSeconds": 1} | more}


async def finish(world: World, job: Json, type_: str) -> None:
    """Play the Job controller."""
    now = format_time(datetime.now(UTC))
    first = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[type_]
    conditions = [
        {"type": each, "status": "True", "reason": "Told", "lastTransitionTime": now}
        for each in (first, type_)
    ]
    status = {"startTime": now, "conditions": conditions}
    if type_ == "Complete":
        status |= {"completionTime": now}
    await world.patch(JOBS, job["metadata"]["name"], {"status": status}, subresource="status")


async def test_a_revision_goes_from_step_to_step(live: World) -> None:
    await live.rollout(4, steps=[{"replicas": 1}, {"pause": {}}, {"replicas": "50%"}])
    await live.is_complete()
    assert "step" not in await live.status(ROLLOUTS)

    await live.set_image("web:2")

    step = await is_at(live, 1, "Paused")
    assert step["type"] == "Pause"
    assert "waits until it is resumed" in step["message"]
    assert await sizes(live) == {"web:1": 3, "web:2": 1}
    await live.has_condition(ROLLOUTS, "Ready", "False")
    progressing = await live.condition(ROLLOUTS, "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("True", "StepWaiting")
    resume = {RESUME_STEP: f"{step['podSet']}/1"}
    await live.patch(ROLLOUTS, "web", {"metadata": {"annotations": resume}})
    await live.is_complete(revision=2)
    assert await sizes(live) == {"web:1": 0, "web:2": 4}


async def test_the_deadline_does_not_pass_while_a_step_waits(live: World) -> None:
    await live.rollout(
        2, progressDeadlineSeconds=4, steps=[{"replicas": 1}, {"pause": {"seconds": 6}}]
    )
    await live.is_complete()

    await live.set_image("web:2")

    await is_at(live, 1, "Paused")
    await live.is_complete(revision=2)
    assert "held" not in await live.status(ROLLOUTS)


async def test_a_gate_that_prometheus_opens_lets_the_rest_follow(
    live: World, prometheus: Prometheus
) -> None:
    steps = [{"replicas": 1}, gate(prometheus, "vector(0)", forSeconds=1)]
    await live.rollout(2, steps=steps)
    await live.is_complete()

    await live.set_image("web:2")

    await live.is_complete(revision=2)


@pytest.mark.parametrize(
    ("query", "found"), [("vector(1)", "measured 1, expected < 0.5"), ("nothing", "no result")]
)
async def test_a_gate_that_stays_shut_brings_the_good_revision_back(
    live: World, prometheus: Prometheus, query: str, found: str
) -> None:
    await live.rollout(2, steps=[{"replicas": 1}, gate(prometheus, query, failureLimit=1)])
    await live.is_complete()

    await live.set_image("web:2")

    held = await is_held(live, "GateFailed")
    assert found in held["message"]
    assert "2 of 2 misses" in held["message"]
    assert await sizes(live) == {"web:1": 2, "web:2": 0}
    assert "step" not in await live.status(ROLLOUTS)


async def test_a_job_runs_before_any_new_pod_comes(live: World) -> None:
    await live.rollout(2, steps=[{"job": JOB}])
    await live.is_complete()

    await live.set_image("web:2")

    step = await is_at(live, 0, "Running")
    assert await sizes(live) == {"web:1": 2, "web:2": 0}

    async def is_made() -> None:
        assert await live.all(JOBS)

    await live.eventually(is_made)
    (job,) = await live.all(JOBS)
    assert job["metadata"]["name"] == step["job"]
    assert job["spec"]["activeDeadlineSeconds"] == 3600
    owner = controller_of(job)
    assert owner is not None
    assert owner.uid == uid_of(await live.podset_of("web:2"))
    await finish(live, job, "Complete")
    await live.is_complete(revision=2)
    assert len(await live.all(JOBS)) == 1


async def test_a_job_that_fails_brings_the_good_revision_back(live: World) -> None:
    await live.rollout(2, steps=[{"replicas": 1}, {"job": JOB}])
    await live.is_complete()
    await live.set_image("web:2")

    async def fails() -> None:
        (job,) = await live.all(JOBS)
        await finish(live, job, "Failed")

    await live.eventually(fails)

    held = await is_held(live, "JobFailed")
    assert "Told" in held["message"]


async def test_a_job_that_is_refused_fails_its_step(live: World) -> None:
    template: Json = {"spec": {"template": {"spec": {"containers": []}}}}
    await live.rollout(1, steps=[{"job": {"template": template}}])
    await live.is_complete()

    await live.set_image("web:2")

    held = await is_held(live, "JobFailed")
    assert "was refused" in held["message"]


async def test_going_back_to_the_good_revision_skips_the_steps(live: World) -> None:
    await live.rollout(2, steps=[{"replicas": 1}, {"pause": {}}])
    await live.is_complete()
    await live.set_image("web:2")
    await is_at(live, 1, "Paused")

    await live.set_image("web:1")

    await live.is_complete()
    assert "step" not in await live.status(ROLLOUTS)
