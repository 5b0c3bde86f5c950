"""What is changed in the cluster by hand is put right, and what belongs to others is left alone."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gitops_agent.agent import Agent
from gitops_agent.names import APPLICATION_LABEL, APPLICATIONS
from kube_runtime.api import PatchType
from kube_runtime.errors import NotFound
from kube_runtime.resource import CONFIG_MAPS, Json, uid_of
from tests.contract.gitops_agent.conftest import (
    Repository,
    Scene,
    condition,
    config_map,
    running_agent,
)

pytestmark = pytest.mark.contract


async def _edit(scene: Scene, name: str, patch: Json) -> None:
    await scene.api.patch(
        CONFIG_MAPS,
        name,
        patch,
        namespace=scene.namespace,
        type=PatchType.MERGE,
        field_manager="somebody",
    )


async def _until_object(
    scene: Scene, name: str, holds: Callable[[Json], object], seconds: float = 15.0
) -> Json:
    found: Json = {}
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    found = await scene.api.get(CONFIG_MAPS, name, namespace=scene.namespace)
                except NotFound:
                    found = {}
                if holds(found):
                    return found
                await asyncio.sleep(0.05)
    except TimeoutError:
        pytest.fail(f"{name} never became as expected: {found}\n{(await scene.get())['status']}")


async def test_an_edit_is_undone(agent: Agent, scene: Scene, repository: Repository) -> None:
    commit = await repository.push({"a.yaml": config_map("a", colour="red")})
    await scene.application()
    await scene.until_synced(commit)

    await _edit(scene, "a", {"data": {"colour": "green"}})

    await _until_object(scene, "a", lambda obj: obj["data"] == {"colour": "red"})
    status = await scene.until_synced(commit)
    assert "drift" in status["operationState"]["message"] or status["operationState"]["message"]


async def test_a_deleted_object_comes_back(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("a", colour="red")})
    await scene.application()
    await scene.until_synced(commit)
    before = uid_of(await scene.api.get(CONFIG_MAPS, "a", namespace=scene.namespace))

    await scene.api.delete(CONFIG_MAPS, "a", namespace=scene.namespace)

    await _until_object(scene, "a", lambda obj: obj and uid_of(obj) != before)
    await scene.until_synced(commit)


async def test_a_label_that_is_taken_off_is_drift_and_not_a_deletion(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("a", colour="red")})
    await scene.application()
    await scene.until_synced(commit)
    before = await scene.api.get(CONFIG_MAPS, "a", namespace=scene.namespace)

    await _edit(scene, "a", {"metadata": {"labels": {APPLICATION_LABEL: None}}})

    after = await _until_object(
        scene, "a", lambda obj: APPLICATION_LABEL in (obj["metadata"].get("labels") or {})
    )
    assert uid_of(after) == uid_of(before)


async def test_a_field_that_git_does_not_name_belongs_to_whoever_set_it(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("a", colour="red")})
    await scene.application()
    await scene.until_synced(commit)

    await _edit(scene, "a", {"data": {"theirs": "kept"}})
    await asyncio.sleep(0.5)

    found = await scene.api.get(CONFIG_MAPS, "a", namespace=scene.namespace)
    assert found["data"] == {"colour": "red", "theirs": "kept"}
    assert (await scene.get())["status"]["sync"]["status"] == "Synced"


async def test_without_self_heal_drift_is_shown_and_left(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("a", colour="red")})
    await scene.application(automated={"selfHeal": False})
    await scene.until_synced(commit)

    await _edit(scene, "a", {"data": {"colour": "green"}})

    status = await scene.until(lambda s: s["sync"]["status"] == "OutOfSync")
    assert status["resources"][0]["changed"] == [".data.colour"]
    found = await scene.api.get(CONFIG_MAPS, "a", namespace=scene.namespace)
    assert found["data"] == {"colour": "green"}


async def test_a_field_that_left_git_is_taken_out_and_others_stay(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    await repository.push({"a.yaml": config_map("a", first="1", second="2")})
    await scene.application()
    await scene.until_synced(repository.git("rev-parse", "HEAD"))
    await _edit(scene, "a", {"data": {"theirs": "kept"}})

    commit = await repository.push({"a.yaml": config_map("a", first="1")})
    await scene.until_synced(commit)

    found = await scene.api.get(CONFIG_MAPS, "a", namespace=scene.namespace)
    assert found["data"] == {"first": "1", "theirs": "kept"}


async def test_somebody_who_never_gives_in_is_named(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("a", colour="red")})
    await scene.application()
    await scene.until_synced(commit)

    for _ in range(5):
        await _edit(scene, "a", {"data": {"colour": "green"}})
        await _until_object(scene, "a", lambda obj: obj["data"] == {"colour": "red"})
    await _edit(scene, "a", {"data": {"colour": "green"}})
    status = await scene.until(lambda s: condition(s, "DiffNotConverging"))

    message = condition(status, "DiffNotConverging")["message"]
    assert ".data.colour" in message
    assert "somebody" in message


async def test_an_object_of_another_application_is_refused(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("shared", colour="red")})
    await scene.application("first")
    await scene.until_synced(commit, name="first")

    await scene.application("second")
    status = await scene.until(
        lambda s: condition(s, "SyncError") or condition(s, "Ready").get("status") == "True",
        name="second",
    )

    assert condition(status, "SyncError")["reason"] == "OwnedByAnother"
    assert f"{scene.namespace}/first" in condition(status, "SyncError")["message"]
    await scene.until_synced(commit, name="first")


async def test_the_objects_of_a_recreated_application_are_taken_up_again(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("a", colour="red")})
    await scene.application()
    await scene.until_synced(commit)
    before = await scene.api.get(CONFIG_MAPS, "a", namespace=scene.namespace)

    await scene.api.delete(APPLICATIONS, "app", namespace=scene.namespace)
    await asyncio.sleep(0.3)
    await scene.application()
    await scene.until_synced(commit)

    after = await scene.api.get(CONFIG_MAPS, "a", namespace=scene.namespace)
    assert uid_of(after) == uid_of(before)
    assert len((await scene.get())["status"]["inventory"]["entries"]) == 1


async def test_a_restart_in_the_middle_of_a_sync_converges(
    kubeconfig: Path, scene: Scene, repository: Repository, tmp_path: Path
) -> None:
    files = {f"{n}.yaml": config_map(f"c{n}", a="1") for n in range(30)}
    commit = await repository.push(files)
    async with running_agent(kubeconfig, tmp_path / "first"):
        await scene.application()
        await scene.until(lambda s: s.get("inventory", {}).get("entries"))

    async with running_agent(kubeconfig, tmp_path / "second"):
        status = await scene.until_synced(commit)

    assert all(entry["uid"] for entry in status["inventory"]["entries"])
    assert len(status["inventory"]["entries"]) == 30
