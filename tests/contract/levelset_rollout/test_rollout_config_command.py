"""`levelset rollout undo` and the configuration of a revision."""

import pytest

from kube_runtime.resource import CONFIG_MAPS, Json
from tests.contract.levelset_rollout.conftest import Cli
from tests.contract.workloads.world import World, template

pytestmark = pytest.mark.contract


def configured(world: World, value: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": world.namespace},
        "data": {"greeting": value},
    }


async def test_undo_brings_the_configuration_of_the_revision_back(
    live: World, levelset: Cli
) -> None:
    await live.create(CONFIG_MAPS, configured(live, "hello"))
    spec = template()
    source = {"configMapRef": {"name": "settings"}}
    spec["spec"]["containers"][0]["envFrom"] = [source]
    await live.rollout(1, template=spec)
    await live.is_complete(revision=1)
    await live.api.replace(CONFIG_MAPS, configured(live, "goodbye"))
    await live.is_complete(revision=2)

    undone = await levelset("rollout", "undo", "web")

    assert undone.code == 0, undone
    assert undone.out == "rollout.levelset.dev/web rolled back\n"
    assert "copies of ConfigMap/settings as of revision 1" in undone.err
    await live.is_complete(revision=3)
    (pod,) = await live.pods()
    (read,) = pod["spec"]["containers"][0]["envFrom"]
    copy = await live.get(CONFIG_MAPS, read["configMapRef"]["name"])
    assert copy["data"] == {"greeting": "hello"}
