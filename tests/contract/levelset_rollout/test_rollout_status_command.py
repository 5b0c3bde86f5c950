"""`levelset rollout status`: phrases and exit codes that scripts rely on."""

import asyncio

import pytest

from kube_runtime.api import PatchType
from kube_runtime.resource import DEPLOYMENTS, Json
from tests.contract.levelset_rollout.conftest import Cli
from tests.contract.workloads.world import World, rollout
from workloads.names import ROLLOUTS

pytestmark = pytest.mark.contract

DONE = 'rollout "web" successfully rolled out'


async def test_it_waits_until_the_rollout_is_done(live: World, levelset: Cli) -> None:
    live.broken_images.add("web:2")
    await live.rollout(2)
    await live.is_complete()
    await live.set_image("web:2")
    await live.has_status(ROLLOUTS, revision=2)

    waiting = asyncio.create_task(levelset("rollout", "status", "ro/web"))
    looked = await levelset("rollout", "status", "web", "--watch=false")
    live.broken_images.clear()
    waited = await waiting

    assert looked.code == 0
    assert looked.out.startswith('Waiting for rollout "web" rollout to finish: ')
    assert DONE not in looked.out
    assert waited.code == 0, waited
    assert waited.out.splitlines()[-1] == DONE
    assert waited.err == ""


async def test_a_missed_deadline_is_a_failure(controlled: World, levelset: Cli) -> None:
    await controlled.rollout(1, progressDeadlineSeconds=1)

    said = await levelset("rollout", "status", "rollout", "web")

    assert said.code == 1
    assert 'levelset: rollout "web" exceeded its progress deadline' in said.err
    assert said.err.count("\n") == 1


async def test_a_time_limit_is_a_failure(controlled: World, levelset: Cli) -> None:
    await controlled.rollout(1)

    said = await levelset("rollout", "status", "web", "--timeout=1s")

    assert said.code == 1
    assert said.err == "levelset: timed out waiting for the condition\n"
    assert "0 out of 1 new replicas have been updated..." in said.out or "available" in said.out


async def test_a_rollout_that_is_deleted_meanwhile_is_a_failure(
    controlled: World, levelset: Cli
) -> None:
    await controlled.rollout(1)
    await controlled.has_pods(1)

    waiting = asyncio.create_task(levelset("rollout", "status", "web"))
    await asyncio.sleep(1.5)  # the command has had its first look, or finds nothing: both fail
    await controlled.delete(ROLLOUTS, "web")
    said = await waiting

    assert said.code == 1
    assert "object has been deleted" in said.err or "not found" in said.err


async def test_another_revision_than_the_pinned_one_is_a_failure(
    live: World, levelset: Cli
) -> None:
    await live.rollout(1)
    await live.is_complete()

    right = await levelset("rollout", "status", "web", "--revision=1")
    wrong = await levelset("rollout", "status", "web", "--revision=7")

    assert (right.code, right.out) == (0, f"{DONE}\n")
    assert wrong.code == 1
    assert "desired revision (7) is different from the running revision (1)" in wrong.err


async def test_a_rollout_that_is_not_there_is_one_line(world: World, levelset: Cli) -> None:
    said = await levelset("rollout", "status", "nobody")

    assert said.code == 1
    assert said.err.startswith('levelset: rollouts.levelset.dev "nobody" not found in namespace')
    assert said.err.count("\n") == 1


async def test_it_is_a_plugin_of_kubectl(live: World, with_kubectl: Cli) -> None:
    await live.rollout(1)
    await live.is_complete()

    said = await with_kubectl("levelset", "rollout", "status", "ro/web", program="kubectl")
    wrong = await with_kubectl("levelset", "rollout", "status", program="kubectl")

    assert (said.code, said.out) == (0, f"{DONE}\n")
    assert wrong.code == 2
    assert wrong.err.startswith("kubectl levelset rollout status: the following arguments")


LATE = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"observedGeneration": 0}, id="not observed"),
        pytest.param({"updatedReplicas": 1, "replicas": 3}, id="updating"),
        pytest.param({"updatedReplicas": 3, "replicas": 4}, id="old ones left"),
        pytest.param(
            {"updatedReplicas": 3, "replicas": 3, "readyReplicas": 3, "availableReplicas": 2},
            id="not available",
        ),
        pytest.param(
            {"updatedReplicas": 3, "replicas": 3, "readyReplicas": 3, "availableReplicas": 3},
            id="complete",
        ),
        pytest.param({"conditions": [LATE]}, id="late"),
    ],
)
async def test_it_says_what_kubectl_says_of_a_deployment(
    world: World, with_kubectl: Cli, status: Json
) -> None:
    await _in_state(world, status)
    words = ("rollout", "status", "--watch=false")

    theirs = await with_kubectl(*words, "deployment/web", program="kubectl")
    ours = await with_kubectl(*words, "rollout/web")

    assert ours.code == theirs.code
    assert ours.out == theirs.out.replace("deployment", "rollout")
    assert ours.err == theirs.err.replace("deployment", "rollout").replace("error:", "levelset:")


async def _in_state(world: World, status: Json) -> None:
    """Make a Rollout and a Deployment of the same status; there are no controllers."""
    raw = rollout("web", 3)
    await world.create(ROLLOUTS, raw)
    await world.create(DEPLOYMENTS, raw | {"apiVersion": "apps/v1", "kind": "Deployment"})
    for resource in (ROLLOUTS, DEPLOYMENTS):
        await world.api.patch(
            resource,
            "web",
            {"status": {"observedGeneration": 1} | status},
            namespace=world.namespace,
            type=PatchType.MERGE,
            subresource="status",
        )
