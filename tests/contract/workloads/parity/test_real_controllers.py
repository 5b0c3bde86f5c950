"""What kube-controller-manager's own controllers make of our kinds, and ours of theirs."""

import asyncio
import json
from typing import Any

import pytest

from kube_runtime.resource import PODS, Json, Resource, controller_of, is_deleting
from local_cluster.control_plane import ControlPlane
from local_cluster.kubectl import Kubectl
from tests.contract.workloads.parity import meter
from tests.contract.workloads.parity.revisions import has_sizes
from tests.contract.workloads.world import World, bare_pod, template
from workloads.names import PODSETS, ROLLOUTS

pytestmark = pytest.mark.contract

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
SECONDS = 60.0
ALONE = {"mode": "None", "budget": "None"}  # the test brings its own budget
NEW_DEFAULT = [
    {
        "op": "add",
        "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/template"
        "/properties/spec/properties/restartPolicy/default",
        "value": "Always",
    }
]
NOWHERE = {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}}


def budget(**spec: int | str) -> Json:
    return {
        "apiVersion": BUDGETS.api_version,
        "kind": BUDGETS.kind,
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
    }


def autoscaler() -> Json:
    at_once = {"stabilizationWindowSeconds": 0}
    policies = [{"type": "Pods", "value": 100, "periodSeconds": 1}]
    cpu = {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "100m"}}
    return {
        "apiVersion": AUTOSCALERS.api_version,
        "kind": AUTOSCALERS.kind,
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": ROLLOUTS.api_version,
                "kind": ROLLOUTS.kind,
                "name": "web",
            },
            "minReplicas": 1,
            "maxReplicas": 6,
            "metrics": [{"type": "Resource", "resource": cpu}],
            "behavior": {
                "scaleUp": {**at_once, "policies": policies},
                "scaleDown": {**at_once, "policies": policies},
            },
        },
    }


async def is_complete(world: World, **wanted: Any) -> None:
    await world.eventually(lambda: world.is_complete(**wanted), seconds=SECONDS)


async def is_sized(world: World, replicas: int) -> None:
    """Wait until the autoscaler has asked for so many, and they are there."""

    async def check() -> None:
        found = await world.get(ROLLOUTS, "web")
        scaler = (await world.get(AUTOSCALERS, "web")).get("status")
        assert found["spec"]["replicas"] == replicas, scaler

    await world.eventually(check, seconds=SECONDS)
    await is_complete(world, replicas=replicas)


async def test_a_real_autoscaler_sizes_a_rollout_by_its_load(
    full_world: World, full_plane: ControlPlane, full_kubectl: Kubectl
) -> None:
    world = full_world
    async with meter.serving(world.api, world.namespace, full_plane.authority) as metered:
        available = ("wait", "--for=condition=Available", f"apiservice/{meter.NAME}")
        await asyncio.to_thread(full_kubectl, *available, "--timeout=60s", timeout_seconds=65)
        await world.rollout(1)
        await is_complete(world)
        metered.millicores = 400
        await world.create(AUTOSCALERS, autoscaler())

        await is_sized(world, 4)
        await world.set_image("web:2")  # the pods of the surge are no reason to grow further
        await is_complete(world, revision=2, replicas=4)
        await is_sized(world, 4)
        metered.millicores = 150
        await is_sized(world, 2)

        assert metered.questions > 2


async def has_budget(world: World, **wanted: int) -> None:
    async def check() -> None:
        status = (await world.get(BUDGETS, "web")).get("status") or {}
        assert {key: status.get(key) for key in wanted} == wanted, status

    await world.eventually(check, seconds=SECONDS)


async def evict(world: World, kubectl: Kubectl, pod: Json) -> str:
    """Ask for one eviction, as `kubectl drain` does, and return what was refused."""
    name = pod["metadata"]["name"]
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    path = f"/api/v1/namespaces/{world.namespace}/pods/{name}/eviction"
    done = await asyncio.to_thread(
        kubectl, "create", "--raw", path, "-f", "-", stdin=json.dumps(eviction), check=False
    )
    return done.stderr


async def test_a_budget_in_percent_is_kept_during_a_surge(
    full_world: World, full_kubectl: Kubectl
) -> None:
    world = full_world
    strategy = {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 0}}
    await world.rollout(4, strategy=strategy, disruption=ALONE)
    await is_complete(world)
    await world.create(BUDGETS, budget(maxUnavailable="25%"))
    await has_budget(world, expectedPods=4, desiredHealthy=3, disruptionsAllowed=1)
    (first, *_) = await world.pods()
    assert await evict(world, full_kubectl, first) == ""
    await has_budget(world, currentHealthy=4, disruptionsAllowed=1)
    await is_complete(world)

    unschedulable = template("web:2")
    unschedulable["spec"] |= NOWHERE
    await world.patch(ROLLOUTS, "web", {"spec": {"template": unschedulable}})

    await has_sizes(world, v1=4, v2=2)
    # The surge counts as expected: the budget is never kept more loosely than for a Deployment.
    await has_budget(world, expectedPods=6, desiredHealthy=4, disruptionsAllowed=0)
    (old, *_) = [pod for pod in await world.pods() if pod["status"]["phase"] == "Running"]
    assert "disruption budget" in await evict(world, full_kubectl, old)
    mended = template("web:3")
    mended["spec"]["nodeSelector"] = None
    await world.patch(ROLLOUTS, "web", {"spec": {"template": mended}})
    await is_complete(world, replicas=4)
    await has_budget(world, expectedPods=4, disruptionsAllowed=1)


@pytest.mark.parametrize("policy", [None, "Background", "Foreground"])
async def test_the_pods_of_a_deleted_rollout_go_with_it(
    full_world: World, policy: str | None
) -> None:
    world = full_world
    await world.rollout(2)
    await is_complete(world)

    await world.delete(ROLLOUTS, "web", propagation_policy=policy)

    async def nothing_is_left() -> None:
        for resource in (ROLLOUTS, PODSETS, PODS):
            assert await world.all(resource) == []

    await world.eventually(nothing_is_left, seconds=SECONDS)


async def test_pods_can_be_kept_and_are_adopted_again(full_world: World) -> None:
    world = full_world
    await world.podset(2)
    await world.eventually(lambda: world.has_status(PODSETS, availableReplicas=2), seconds=SECONDS)
    pods = {pod["metadata"]["uid"] for pod in await world.pods()}

    await world.delete(PODSETS, "web", propagation_policy="Orphan")

    async def are_orphans() -> None:
        assert await world.all(PODSETS) == []
        assert [controller_of(pod) for pod in await world.pods()] == [None, None]

    await world.eventually(are_orphans, seconds=SECONDS)
    await world.podset(2)
    await world.has_status(PODSETS, availableReplicas=2)
    assert {pod["metadata"]["uid"] for pod in await world.pods()} == pods


async def test_the_charts_rights_are_enough_to_hold_an_owner_back(
    full_world: World, full_kubectl: Kubectl
) -> None:
    world = full_world
    flags = ("-n", world.namespace)
    await world.rollout(1)
    await is_complete(world)
    (pod,) = await world.pods()
    full_kubectl("create", "role", "pods", "--verb=create", "--resource=pods", *flags)
    full_kubectl("create", "rolebinding", "pods", "--role=pods", "--user=plain", *flags)
    forged = bare_pod("forged")
    forged["metadata"]["ownerReferences"] = pod["metadata"]["ownerReferences"]

    done = full_kubectl(
        "create", "--as=plain", "-f", "-", *flags, stdin=json.dumps(forged), check=False
    )

    assert pod["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] is True
    assert "cannot set blockOwnerDeletion" in done.stderr


async def test_pods_of_a_drained_node_come_back_elsewhere(
    full_world: World, full_kubectl: Kubectl
) -> None:
    world = full_world
    await world.rollout(3)
    await is_complete(world)
    node = (await world.pods())[0]["spec"]["nodeName"]
    drain = ("drain", node, "--pod-selector=app=web", "--timeout=30s")

    try:
        await asyncio.to_thread(full_kubectl, *drain, timeout_seconds=40)

        async def are_elsewhere() -> None:
            pods = [pod for pod in await world.pods() if not is_deleting(pod)]
            assert len(pods) == 3
            assert node not in {pod["spec"].get("nodeName") for pod in pods}

        await world.eventually(are_elsewhere, seconds=SECONDS)
        await is_complete(world)
    finally:
        await asyncio.to_thread(full_kubectl, "uncordon", node)


async def test_a_new_default_inside_the_template_rolls_nothing(
    full_world: World, full_kubectl: Kubectl
) -> None:
    """The last of this file: the kinds of its control plane stay changed."""
    world = full_world
    await world.rollout(2)
    await is_complete(world)
    pods = {pod["metadata"]["uid"] for pod in await world.pods()}
    (podset,) = await world.podsets()
    kept = {ROLLOUTS: "web", PODSETS: podset["metadata"]["name"]}

    for resource, name in kept.items():  # one after the other, as an upgrade brings them
        kind = f"{resource.plural}.{resource.group}"
        patch = ("patch", "crd", kind, "--type=json", "-p", json.dumps(NEW_DEFAULT))
        await asyncio.to_thread(full_kubectl, *patch)

        async def is_defaulted(resource: Resource = resource, name: str = name) -> None:
            await world.patch(resource, name, {"metadata": {"annotations": {"seen": "1"}}})
            found = await world.get(resource, name)
            assert found["spec"]["template"]["spec"]["restartPolicy"] == "Always"

        await world.eventually(is_defaulted, seconds=SECONDS)

        async def nothing_rolls() -> None:
            assert len(await world.podsets()) == 1
            assert {pod["metadata"]["uid"] for pod in await world.pods()} == pods

        await world.stays(nothing_rolls)
    await world.set_image("web:2")
    await is_complete(world, revision=2, updatedReplicas=2)
