"""What has left Git goes, and only with proof."""

import asyncio

import pytest

from gitops_agent.agent import Agent
from gitops_agent.names import APPLICATIONS
from kube_runtime.api import PatchType
from kube_runtime.errors import NotFound
from kube_runtime.resource import CONFIG_MAPS, Json, resource_version_of
from tests.contract.gitops_agent.conftest import Repository, Scene, condition, config_map

pytestmark = pytest.mark.contract


async def _names(scene: Scene) -> set[str]:
    found = await scene.api.list(CONFIG_MAPS, namespace=scene.namespace)
    return {obj["metadata"]["name"] for obj in found.items} - {"kube-root-ca.crt"}


async def _synced_with(scene: Scene, repository: Repository, *names: str) -> str:
    commit = await repository.push({f"{name}.yaml": config_map(name, a="1") for name in names})
    await scene.until_synced(commit)
    return commit


async def test_what_left_git_is_deleted_and_leaves_the_inventory(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await scene.application()
    await _synced_with(scene, repository, "stays", "goes")

    commit = await repository.push({"stays.yaml": config_map("stays", a="1")})
    status = await scene.until(
        lambda s: s["sync"].get("revision") == commit and len(s["inventory"]["entries"]) == 1
    )

    assert await _names(scene) == {"stays"}
    assert status["sync"]["status"] == "Synced"


async def test_without_prune_it_stays_and_is_named(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await scene.application(automated={"prune": False})
    await _synced_with(scene, repository, "stays", "goes")

    commit = await repository.push({"stays.yaml": config_map("stays", a="1")})
    status = await scene.until(lambda s: s["sync"].get("revision") == commit)

    assert status["sync"]["status"] == "OutOfSync"
    assert [r["name"] for r in status["resources"] if r.get("requiresPruning")] == ["goes"]
    assert await _names(scene) == {"stays", "goes"}

    await scene.sync_annotation('{"id": "p", "prune": true}')
    await scene.until_synced(commit)
    assert await _names(scene) == {"stays"}


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"a.yaml": "a: [1"}, id="broken yaml"),
        pytest.param({"kustomization.yaml": "resources: [missing.yaml]\n"}, id="missing resource"),
        pytest.param(
            {"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nmetadata: {}\n"},
            id="duplicate key",
        ),
        pytest.param(
            {"a.yaml": "apiVersion: no.such/v1\nkind: Thing\nmetadata: {name: a}\n"},
            id="unknown kind",
        ),
    ],
)
async def test_a_commit_that_does_not_render_prunes_nothing(
    agent: Agent, scene: Scene, repository: Repository, broken: dict[str, object]
) -> None:
    await scene.application()
    good = await _synced_with(scene, repository, "one", "two")

    await repository.push(broken)
    status = await scene.until(lambda s: condition(s, "ComparisonError"))

    assert status["sync"] == {"status": "Unknown", "revision": good}
    assert len(status["inventory"]["entries"]) == 2
    assert await _names(scene) == {"one", "two"}


async def test_a_commit_with_nothing_in_it_is_an_accident_unless_said_otherwise(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await scene.application()
    await _synced_with(scene, repository, "one", "two")

    commit = await repository.push({"README.md": "nothing here\n"})
    status = await scene.until(lambda s: condition(s, "PruneHeld"))
    assert "allowEmpty" in condition(status, "PruneHeld")["message"]
    assert await _names(scene) == {"one", "two"}

    patch = {"spec": {"syncPolicy": {"automated": {"allowEmpty": True}}}}
    await scene.api.patch(
        APPLICATIONS, "app", patch, namespace=scene.namespace, type=PatchType.MERGE
    )
    await scene.until(
        lambda s: not s["inventory"].get("entries") and s["sync"]["revision"] == commit
    )
    assert await _names(scene) == set()


async def test_a_mass_deletion_is_held_until_a_person_confirms_it(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await scene.application()
    await _synced_with(scene, repository, *(f"c{number}" for number in range(14)))

    commit = await repository.push({"c0.yaml": config_map("c0", a="1")})
    status = await scene.until(lambda s: condition(s, "PruneHeld"))
    assert "13 of 14" in condition(status, "PruneHeld")["message"]
    assert len(await _names(scene)) == 14

    await scene.sync_annotation('{"id": "yes", "prune": true}')
    await scene.until(lambda s: len(s["inventory"]["entries"]) == 1)
    assert await _names(scene) == {"c0"}
    await scene.until_synced(commit)


async def test_an_object_that_somebody_replaced_is_not_ours_to_delete(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await scene.application(automated={"selfHeal": False})
    await _synced_with(scene, repository, "stays", "replaced")
    await scene.api.delete(CONFIG_MAPS, "replaced", namespace=scene.namespace)
    await scene.api.create(CONFIG_MAPS, _in(scene, config_map("replaced", mine="yes")))

    commit = await repository.push({"stays.yaml": config_map("stays", a="1")})
    await scene.until_synced(commit)
    await asyncio.sleep(0.5)

    assert await _names(scene) == {"stays", "replaced"}


async def test_an_annotation_keeps_an_object(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    kept = config_map("kept", a="1")
    kept["metadata"]["annotations"] = {"levelset.dev/sync-options": "Prune=false"}
    await scene.application()
    commit = await repository.push({"a.yaml": kept, "b.yaml": config_map("b", a="1")})
    await scene.until_synced(commit)

    await repository.push({"b.yaml": config_map("b", a="1")})
    status = await scene.until(lambda s: condition(s, "PruneHeld"))

    assert "Prune=false" in condition(status, "PruneHeld")["message"]
    assert await _names(scene) == {"kept", "b"}


def _in(scene: Scene, obj: Json) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "namespace": scene.namespace}}


async def test_an_application_that_is_deleted_leaves_its_objects(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await scene.application()
    await _synced_with(scene, repository, "one")

    await scene.api.delete(APPLICATIONS, "app", namespace=scene.namespace)
    await asyncio.sleep(0.5)

    assert await _names(scene) == {"one"}
    with pytest.raises(NotFound):
        await scene.get()


async def test_an_object_that_a_finalizer_holds_is_deleted_once_and_waited_for(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    held = config_map("held", a="1")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await scene.application()
    await scene.until_synced(
        await repository.push({"a.yaml": held, "b.yaml": config_map("b", a="1")})
    )

    commit = await repository.push({"b.yaml": config_map("b", a="1")})
    await scene.until(lambda s: (s.get("operationState") or {}).get("revision") == commit)
    await asyncio.sleep(1)
    before = resource_version_of(await scene.get())
    await asyncio.sleep(1)

    assert resource_version_of(await scene.get()) == before
    status = (await scene.get())["status"]
    assert [r["name"] for r in status["resources"] if r.get("requiresPruning")] == ["held"]
    patch = {"metadata": {"finalizers": None}}
    await scene.api.patch(
        CONFIG_MAPS, "held", patch, namespace=scene.namespace, type=PatchType.MERGE
    )
    await scene.until(lambda s: len(s["inventory"]["entries"]) == 1)
    await scene.until_synced(commit)
