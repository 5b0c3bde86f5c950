"""From a push to a level namespace, with real git, real kustomize and a real API server."""

import asyncio
import time

import pytest

from exporters.instrument import Instruments
from gitops_agent.agent import Agent
from gitops_agent.names import APPLICATIONS
from gitops_agent.source.urls import parse
from kube_runtime.errors import NotFound
from kube_runtime.resource import CONFIG_MAPS, NAMESPACES, SERVICES, Json, resource_version_of
from tests.contract.gitops_agent.conftest import (
    Repository,
    Scene,
    condition,
    config_map,
    is_synced,
)

pytestmark = pytest.mark.contract


async def test_a_push_is_applied_within_seconds(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    first = await repository.push({"a.yaml": config_map("settings", colour="red")})
    await scene.application()
    await scene.until_synced(first)

    began = time.monotonic()
    second = await repository.push({"a.yaml": config_map("settings", colour="blue")})
    status = await scene.until_synced(second)

    assert time.monotonic() - began < 5
    found = await scene.api.get(CONFIG_MAPS, "settings", namespace=scene.namespace)
    assert found["data"] == {"colour": "blue"}
    assert condition(status, "Ready")["status"] == "True"
    assert status["health"]["status"] == "Healthy"
    assert status["operationState"]["revision"] == second


async def test_a_kustomization_is_rendered_with_its_options(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push(
        {
            "base/kustomization.yaml": {"resources": ["service.yaml"]},
            "base/service.yaml": {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "web"},
                "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
            },
            "overlays/staging/kustomization.yaml": {
                "resources": ["../../base"],
                "configMapGenerator": [{"name": "env", "literals": ["stage=staging"]}],
            },
        }
    )
    source = {"path": "overlays/staging", "kustomize": {"namePrefix": "blue-"}}
    await scene.application(source=source)

    status = await scene.until_synced(commit)

    names = {resource["name"] for resource in status["resources"]}
    assert "blue-web" in names
    assert any(name.startswith("blue-env-") for name in names)
    await scene.api.get(SERVICES, "blue-web", namespace=scene.namespace)


async def test_a_service_as_people_write_it_is_synced_and_stays_so(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "labels": None},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota"},
        "spec": {"hard": {"cpu": "1000m", "memory": "3072Mi", "pods": 10}},
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}}
    commit = await repository.push(
        {"all.yaml": {"apiVersion": "v1", "kind": "List", "items": [service, quota, account]}}
    )
    await scene.application()
    await scene.until_synced(commit)

    await asyncio.sleep(1)

    status = (await scene.get())["status"]
    assert is_synced(status, commit)
    assert status["operationState"]["message"].startswith("3 applied")


async def test_a_reconcile_that_finds_nothing_new_writes_and_asks_nothing(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("settings", a="1")})
    await scene.application()
    await scene.until_synced(commit)
    await asyncio.sleep(0.5)
    before = await scene.get()
    renders, requests = _sum(agent, "levelset_gitops_renders"), _sum(agent, "levelset_gitops_git")

    for _ in range(3):
        agent.wake_repository(_index_key(before))
        await asyncio.sleep(0.1)

    assert resource_version_of(await scene.get()) == resource_version_of(before)
    assert _sum(agent, "levelset_gitops_renders") == renders
    assert _sum(agent, "levelset_gitops_git") == requests


async def test_a_tag_an_annotated_tag_and_a_commit_are_pinned(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    first = await repository.push({"a.yaml": config_map("one", v="1")})
    repository.git("tag", "-a", "v1.0.0", "-m", "a release")
    repository.git("tag", "light")
    repository.git("push", "-q", "origin", "v1.0.0", "light")
    await repository.push({"a.yaml": config_map("one", v="2")})

    for name, target in (("annotated", "v1.0.0"), ("light", "refs/tags/light"), ("pin", first)):
        await scene.application(name, source={"targetRevision": target})
        if name == "annotated":
            await scene.until_synced(first, name=name)
        else:  # the object belongs to the first of them, which the others must respect
            await scene.until(lambda s: "SyncError" in _kinds(s) or s.get("sync"), name=name)
            status = await scene.until(lambda s: (s.get("sync") or {}).get("revision"), name=name)
            assert status["sync"]["revision"] == first

    found = await scene.api.get(CONFIG_MAPS, "one", namespace=scene.namespace)
    assert found["data"] == {"v": "1"}


async def test_a_branch_that_is_gone_keeps_what_runs(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("kept", a="1")}, branch="feature")
    await scene.application(source={"targetRevision": "feature"})
    await scene.until_synced(commit)

    repository.git("push", "-q", "origin", ":refs/heads/feature")
    status = await scene.until(lambda s: (s.get("sync") or {}).get("status") == "Unknown")

    assert condition(status, "ComparisonError")["reason"] == "RevisionNotFound"
    assert len(status["inventory"]["entries"]) == 1
    await scene.api.get(CONFIG_MAPS, "kept", namespace=scene.namespace)


async def test_a_namespace_is_created_only_when_asked_for(
    agent: Agent, scene: Scene, repository: Repository, other_namespace: str
) -> None:
    commit = await repository.push({"a.yaml": config_map("settings", a="1")})
    await scene.application("without", destination=other_namespace)
    status = await scene.until(lambda s: "SyncError" in _kinds(s), name="without")
    assert other_namespace in condition(status, "SyncError")["message"]
    await scene.api.delete(APPLICATIONS, "without", namespace=scene.namespace)

    await scene.application(
        "with", destination=other_namespace, policy={"syncOptions": ["CreateNamespace=true"]}
    )
    await scene.until_synced(commit, name="with")

    await scene.api.get(NAMESPACES, other_namespace)
    await scene.api.get(CONFIG_MAPS, "settings", namespace=other_namespace)


async def test_a_crd_and_its_objects_come_in_one_sync(
    agent: Agent, scene: Scene, repository: Repository, other_namespace: str
) -> None:
    group = f"{other_namespace}.example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
    widget = {"apiVersion": f"{group}/v1", "kind": "Widget", "metadata": {"name": "one"}, "size": 3}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other_namespace}}
    inside = config_map("inside", a="1")
    inside["metadata"]["namespace"] = other_namespace
    commit = await repository.push(
        {"a.yaml": widget, "b.yaml": crd, "c.yaml": inside, "d.yaml": space}
    )
    await scene.application(automated={"prune": False})

    status = await scene.until_synced(commit)

    assert len(status["resources"]) == 4
    await scene.api.get(CONFIG_MAPS, "inside", namespace=other_namespace)


async def test_a_manual_application_waits_to_be_asked_and_answers_once(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("asked", a="1")})
    await scene.application(policy={"automated": None})
    await scene.until(lambda s: (s.get("sync") or {}).get("status") == "OutOfSync")
    with pytest.raises(NotFound):
        await scene.api.get(CONFIG_MAPS, "asked", namespace=scene.namespace)

    await scene.sync_annotation("request-1")
    status = await scene.until_synced(commit)

    assert status["operationState"]["id"] == "request-1"
    started = status["operationState"]["startedAt"]
    agent.wake_repository(_index_key(await scene.get()))
    await asyncio.sleep(0.3)
    assert (await scene.get())["status"]["operationState"]["startedAt"] == started


async def test_a_request_for_another_revision_is_refused_where_syncs_are_automated(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    commit = await repository.push({"a.yaml": config_map("x", a="1")})
    await scene.application()
    await scene.until_synced(commit)

    await scene.sync_annotation(f'{{"id": "r2", "revision": "{commit}"}}')
    status = await scene.until(lambda s: (s.get("operationState") or {}).get("id") == "r2")

    assert status["operationState"]["phase"] == "Error"
    assert "automated" in status["operationState"]["message"]


def _sum(agent: Agent, prefix: str) -> float:
    instruments: Instruments = agent._instruments
    return sum(
        sample.value
        for family in instruments.registry.collect()
        for sample in family.samples
        if family.name.startswith(prefix) and sample.name.endswith("_total")
    )


def _index_key(application: Json) -> str:
    return parse(application["spec"]["source"]["repoURL"]).index_key


def _kinds(status: Json) -> set[str]:
    return {c["type"] for c in status.get("conditions") or ()}
