"""What admission would refuse stops the sync before anything is touched."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gitops_agent.agent import Agent
from kube_runtime.api import ApiClient
from kube_runtime.errors import ApiError, NotFound
from kube_runtime.resource import CONFIG_MAPS, DEPLOYMENTS, PODS, Json, Resource, generation_of
from tests.contract.gitops_agent.conftest import Repository, Scene, condition, config_map

pytestmark = pytest.mark.contract

_POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    namespaced=False,
)
_BINDINGS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)
ROLLOUTS = Resource("levelset.dev", "v1alpha1", "rollouts", "Rollout")


@pytest.fixture
async def signed_only(api: ApiClient, namespace: str) -> AsyncIterator[None]:
    """A real policy on pods, as an image policy would be: images must be called signed."""
    name = f"signed-only-{namespace}"
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    policy = {
        "apiVersion": _POLICIES.api_version,
        "kind": _POLICIES.kind,
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": selector,
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ],
            },
            "validations": [
                {
                    "expression": "object.spec.containers.all(c, c.image.contains('/signed'))",
                    "messageExpression": "'policy signed-only: ' + object.spec.containers[0].image",
                }
            ],
        },
    }
    binding = {
        "apiVersion": _BINDINGS.api_version,
        "kind": _BINDINGS.kind,
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    await api.create(_POLICIES, policy)
    await api.create(_BINDINGS, binding)
    try:
        await _until_enforced(api, namespace)
        yield
    finally:
        await api.delete(_BINDINGS, name)
        await api.delete(_POLICIES, name)


async def _until_enforced(api: ApiClient, namespace: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": _pod("bad")}
    async with asyncio.timeout(30):
        while True:
            try:
                await api.create(PODS, pod, namespace=namespace, dry_run=True)
            except ApiError as error:
                if "signed-only" in error.message:
                    return
            await asyncio.sleep(0.2)


def _pod(image: str) -> Json:
    return {"containers": [{"name": "web", "image": f"registry.example/{image}"}]}


def _workload(kind: str, api_version: str, image: str) -> Json:
    labels = {"app": "web"}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": _pod(image)},
        },
    }


@pytest.mark.parametrize(
    ("kind", "api_version", "resource"),
    [
        pytest.param("Rollout", "levelset.dev/v1alpha1", ROLLOUTS, id="Rollout"),
        pytest.param("Deployment", "apps/v1", DEPLOYMENTS, id="Deployment"),
    ],
)
async def test_an_image_that_pods_may_not_have_stops_the_sync(
    agent: Agent,
    signed_only: None,
    scene: Scene,
    repository: Repository,
    kind: str,
    api_version: str,
    resource: Resource,
) -> None:
    good = await repository.push({"a.yaml": _workload(kind, api_version, "signed:1")})
    await scene.application()
    await scene.until(lambda s: (s.get("sync") or {}).get("revision") == good)
    await scene.until(lambda s: s["sync"]["status"] == "Synced")
    before = await scene.api.get(resource, "web", namespace=scene.namespace)

    await repository.push(
        {"a.yaml": _workload(kind, api_version, "evil:2"), "b.yaml": config_map("new", a="1")}
    )
    status = await scene.until(lambda s: condition(s, "SyncError"))

    problem = condition(status, "SyncError")
    assert problem["reason"] == "PreflightRefused"
    assert "policy signed-only: registry.example/evil:2" in problem["message"]
    assert f"{kind} {scene.namespace}/web" in problem["message"]
    assert status["operationState"]["phase"] == "Failed"
    after = await scene.api.get(resource, "web", namespace=scene.namespace)
    assert generation_of(after) == generation_of(before)
    with pytest.raises(NotFound):
        await scene.api.get(CONFIG_MAPS, "new", namespace=scene.namespace)


async def test_the_next_good_commit_goes_through(
    agent: Agent, signed_only: None, scene: Scene, repository: Repository
) -> None:
    await repository.push({"a.yaml": _workload("Deployment", "apps/v1", "evil:1")})
    await scene.application()
    await scene.until(lambda s: condition(s, "SyncError"))

    good = await repository.push({"a.yaml": _workload("Deployment", "apps/v1", "signed:1")})
    status = await scene.until(
        lambda s: s["sync"].get("revision") == good and s["sync"]["status"] == "Synced"
    )

    assert not condition(status, "SyncError")
    assert status["operationState"]["phase"] == "Succeeded"


async def test_an_invalid_object_is_refused_with_its_field_and_without_the_rest(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    bad = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "bad"},
        "spec": {"ports": [{"port": 99999}]},
    }
    await repository.push({"a.yaml": config_map("fine", a="1"), "b.yaml": bad})
    await scene.application()

    status = await scene.until(lambda s: condition(s, "SyncError"))

    assert "spec.ports[0].port" in condition(status, "SyncError")["message"]
    with pytest.raises(NotFound):
        await scene.api.get(CONFIG_MAPS, "fine", namespace=scene.namespace)


async def test_fields_of_another_manager_are_named_when_they_are_taken(
    agent: Agent, scene: Scene, repository: Repository
) -> None:
    theirs = config_map("settings", colour="green")
    theirs["metadata"]["namespace"] = scene.namespace
    await scene.api.apply(CONFIG_MAPS, theirs, field_manager="their-tool")
    commit = await repository.push({"a.yaml": config_map("settings", colour="red")})

    await scene.application()
    status = await scene.until_synced(commit)

    assert any(
        ".data.colour" in line and "their-tool" in line
        for line in status["operationState"]["forced"]
    )
