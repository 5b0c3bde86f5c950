"""The PodSet controller against a real API server."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from kube_runtime.api import PatchType
from kube_runtime.errors import Conflict
from kube_runtime.resource import PODS, RESOURCE_QUOTAS, Json, controller_of, uid_of
from local_cluster.kubectl import Kubectl
from tests.contract.workloads.world import World, bare_pod, template
from workloads.names import PODSETS
from workloads.podset.pod_additions import SAFE_TO_EVICT

pytestmark = pytest.mark.contract


def names_of(pods: list[Json]) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods}


async def test_pods_are_made_from_the_template(controlled: World) -> None:
    spec = template(tier="front")
    spec["metadata"]["annotations"] = {"note": "x"}
    podset = await controlled.podset(3, template=spec)

    pods = await controlled.has_pods(3)

    for pod in pods:
        owner = controller_of(pod)
        assert owner is not None
        assert (owner.uid, owner.kind, owner.block_owner_deletion) == (
            uid_of(podset),
            "PodSet",
            True,
        )
        assert pod["metadata"]["labels"] == {"app": "web", "tier": "front"}
        assert pod["metadata"]["annotations"] == {"note": "x", SAFE_TO_EVICT: "true"}
        assert pod["metadata"]["name"].startswith("web-")
    await controlled.has_status(
        PODSETS, replicas=3, fullyLabeledReplicas=3, readyReplicas=0, selector="app=web"
    )


async def test_it_scales_up_and_down(controlled: World) -> None:
    await controlled.podset(2)
    await controlled.has_pods(2)

    await controlled.scale(PODSETS, "web", 7)
    await controlled.has_status(PODSETS, replicas=7)
    await controlled.scale(PODSETS, "web", 1)

    await controlled.has_pods(1)
    await controlled.has_status(PODSETS, replicas=1)


async def test_kubectl_scale_and_the_scale_that_an_autoscaler_reads(
    controlled: World, kubectl: Kubectl
) -> None:
    await controlled.podset(2)
    await controlled.has_status(PODSETS, replicas=2)

    kubectl("scale", "podset/web", "--replicas=4", "-n", controlled.namespace)

    await controlled.has_status(PODSETS, replicas=4)
    scale = await controlled.api.get(
        PODSETS, "web", namespace=controlled.namespace, subresource="scale"
    )
    assert scale["spec"] == {"replicas": 4}
    assert scale["status"] == {"replicas": 4, "selector": "app=web"}


async def test_a_deleted_pod_is_replaced(controlled: World) -> None:
    await controlled.podset(2)
    first, second = await controlled.has_pods(2)

    await controlled.delete(PODS, first["metadata"]["name"])

    async def check() -> None:
        pods = await controlled.pods()
        assert len(pods) == 2
        assert first["metadata"]["name"] not in names_of(pods)

    await controlled.eventually(check)
    assert second["metadata"]["name"] in names_of(await controlled.pods())


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_a_pod_that_has_ended_is_replaced_and_left_to_be_looked_at(
    controlled: World, phase: str
) -> None:
    await controlled.podset(2)
    pods = await controlled.has_pods(2)
    # One that was made a second later than the failed one would be waited for.
    newest = max(pods, key=lambda pod: pod["metadata"]["creationTimestamp"])

    await controlled.set_phase(newest, phase)

    await controlled.has_pods(3)
    await controlled.has_status(PODSETS, replicas=2)
    assert names_of(pods) <= names_of(await controlled.pods())


async def test_a_terminating_pod_is_replaced_at_once_and_counted(controlled: World) -> None:
    await controlled.podset(1)
    (pod,) = await controlled.has_pods(1)
    await controlled.bind(pod)
    await controlled.make_ready(pod)

    await controlled.delete(PODS, pod["metadata"]["name"])

    await controlled.has_status(PODSETS, replicas=1, terminatingReplicas=1, readyReplicas=0)
    await controlled.finish_terminations()
    await controlled.has_status(PODSETS, replicas=1, terminatingReplicas=0)


async def test_matching_orphans_are_adopted(controlled: World) -> None:
    await controlled.create(PODS, bare_pod("orphan"))
    await controlled.create(PODS, bare_pod("stranger", app="other"))

    podset = await controlled.podset(2)
    await controlled.has_pods(2, selector="app=web")

    async def check() -> None:
        owner = controller_of(await controlled.get(PODS, "orphan"))
        assert owner is not None
        assert owner.uid == uid_of(podset)

    await controlled.eventually(check)
    assert controller_of(await controlled.get(PODS, "stranger")) is None


async def test_superfluous_orphans_are_adopted_and_then_deleted(controlled: World) -> None:
    await controlled.podset(1)
    await controlled.has_pods(1)

    for number in range(3):
        await controlled.create(PODS, bare_pod(f"orphan-{number}"))

    await asyncio.sleep(0.3)
    await controlled.has_pods(1)
    await controlled.has_status(PODSETS, replicas=1)


async def test_a_pod_of_another_owner_is_left_alone(controlled: World) -> None:
    pod = bare_pod("taken")
    pod["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "u-1", "controller": True}
    ]
    await controlled.create(PODS, pod)

    await controlled.podset(1)

    await controlled.has_pods(2)
    owner = controller_of(await controlled.get(PODS, "taken"))
    assert owner is not None
    assert owner.kind == "Other"


async def test_a_relabelled_pod_is_released_replaced_and_taken_back(controlled: World) -> None:
    await controlled.podset(1)
    (pod,) = await controlled.has_pods(1)
    name = pod["metadata"]["name"]

    await controlled.patch(PODS, name, {"metadata": {"labels": {"app": "debug"}}})

    async def is_released() -> None:
        assert controller_of(await controlled.get(PODS, name)) is None
        assert len(await controlled.pods(selector="app=web")) == 1

    await controlled.eventually(is_released)
    await controlled.patch(PODS, name, {"metadata": {"labels": {"app": "web"}}})

    async def one_is_left() -> None:
        assert len(await controlled.pods(selector="app=web")) == 1
        assert len(await controlled.all(PODS)) == 1

    await controlled.eventually(one_is_left)


async def test_a_podset_created_anew_under_its_name_takes_the_orphans(controlled: World) -> None:
    old = await controlled.podset(2)
    pods = await controlled.has_pods(2)
    await controlled.delete(PODSETS, "web", propagation_policy="Orphan")

    async def orphaned() -> None:
        live = await controlled.all(PODSETS)
        # The garbage collector does not run here: play it.
        for podset in live:
            await controlled.patch(PODSETS, "web", {"metadata": {"finalizers": None}})
            assert podset is None
        for pod in await controlled.pods():
            if controller_of(pod) is not None:
                body = {"metadata": {"ownerReferences": None}}
                await controlled.patch(PODS, pod["metadata"]["name"], body)

    await controlled.eventually(orphaned)
    new = await controlled.podset(2)

    async def adopted() -> None:
        owners = [controller_of(pod) for pod in await controlled.pods()]
        assert [owner and owner.uid for owner in owners] == [uid_of(new)] * 2

    await controlled.eventually(adopted)
    assert uid_of(old) != uid_of(new)
    assert names_of(await controlled.pods()) == names_of(pods)


async def test_a_namesake_made_at_once_has_nothing_to_do_with_the_old_pods(
    controlled: World,
) -> None:
    old = await controlled.podset(3)
    pods = await controlled.has_pods(3)

    # The garbage collector does not run here: the old pods stay for as long as anybody looks.
    await controlled.delete(PODSETS, "web", propagation_policy="Background")
    new = await controlled.podset(2)

    await controlled.has_status(PODSETS, replicas=2, terminatingReplicas=0)
    owners = {
        pod["metadata"]["name"]: owner.uid
        for pod in await controlled.has_pods(5)
        if (owner := controller_of(pod)) is not None
    }
    assert {name for name, uid in owners.items() if uid == uid_of(old)} == names_of(pods)
    assert list(owners.values()).count(uid_of(new)) == 2
    await controlled.stays(lambda: controlled.has_pods(5))


async def test_a_podset_that_waits_for_its_dependents_makes_no_pods(controlled: World) -> None:
    await controlled.podset(2)
    pods = await controlled.has_pods(2)
    await controlled.delete(PODSETS, "web", propagation_policy="Foreground")
    await controlled.create(PODS, bare_pod("orphan"))

    for pod in pods:
        await controlled.delete(PODS, pod["metadata"]["name"])

    async def nothing_but_the_orphan() -> None:
        assert names_of(await controlled.all(PODS)) <= names_of(pods) | {"orphan"}
        assert controller_of(await controlled.get(PODS, "orphan")) is None

    await controlled.stays(nothing_but_the_orphan)
    await controlled.has_status(PODSETS, replicas=0)


async def test_the_cheapest_pod_goes_first(controlled: World) -> None:
    await controlled.podset(3)
    pods = await controlled.has_pods(3)
    since = datetime.now(UTC) - timedelta(hours=1)
    for pod, cost in zip(pods, ("5", "-10", "0"), strict=True):
        annotation = {"controller.kubernetes.io/pod-deletion-cost": cost}
        await controlled.patch(
            PODS, pod["metadata"]["name"], {"metadata": {"annotations": annotation}}
        )
        await controlled.make_ready(pod, since=since)
    await controlled.has_status(PODSETS, readyReplicas=3)

    await controlled.scale(PODSETS, "web", 2)

    await controlled.has_pods(2)
    assert names_of(await controlled.pods()) == names_of([pods[0], pods[2]])


async def test_pods_that_are_not_ready_go_before_those_that_are(controlled: World) -> None:
    await controlled.podset(3)
    pods = await controlled.has_pods(3)
    await controlled.make_ready(pods[1])
    await controlled.has_status(PODSETS, readyReplicas=1)

    await controlled.scale(PODSETS, "web", 1)

    await controlled.has_pods(1)
    assert names_of(await controlled.pods()) == names_of([pods[1]])


async def test_overlapping_podsets_leave_each_others_pods_alone(controlled: World) -> None:
    await controlled.podset(2, "one")
    await controlled.podset(3, "two")

    await controlled.has_pods(5)
    await controlled.has_status(PODSETS, "one", replicas=2)
    await controlled.has_status(PODSETS, "two", replicas=3)
    await controlled.stays(lambda: controlled.has_pods(5))


async def test_availability_comes_with_time_alone(controlled: World) -> None:
    await controlled.podset(1, minReadySeconds=2)
    (pod,) = await controlled.has_pods(1)

    await controlled.make_ready(pod)

    await controlled.has_status(PODSETS, readyReplicas=1, availableReplicas=0)
    await controlled.has_status(PODSETS, readyReplicas=1, availableReplicas=1)
    await controlled.has_condition(PODSETS, "Ready", "True")


async def test_pods_that_lack_labels_of_the_template_are_told_apart(controlled: World) -> None:
    await controlled.create(PODS, bare_pod("orphan"))

    await controlled.podset(2, template=template(tier="front"))

    await controlled.has_status(PODSETS, replicas=2, fullyLabeledReplicas=1)


async def test_an_old_resource_version_is_refused(controlled: World) -> None:
    podset = await controlled.podset(1)
    await controlled.scale(PODSETS, "web", 2)

    with pytest.raises(Conflict):
        await controlled.api.replace(PODSETS, podset)


async def test_a_quota_is_told_in_the_status_and_healed_when_it_goes(controlled: World) -> None:
    quota = {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}}
    await controlled.create(RESOURCE_QUOTAS, {"apiVersion": "v1", "kind": "ResourceQuota", **quota})
    body = {"status": {"hard": {"pods": "2"}, "used": {"pods": "0"}}}
    await controlled.patch(RESOURCE_QUOTAS, "few", body, subresource="status")

    await controlled.podset(5)

    async def is_told() -> None:
        failure = await controlled.condition(PODSETS, "ReplicaFailure")
        assert failure.get("reason") == "FailedCreate"
        assert "exceeded quota: few" in failure["message"]
        assert "web-…" in failure["message"]

    await controlled.eventually(is_told)
    await controlled.has_pods(2)

    async def comes_to_rest() -> None:  # the second try is told in other words than the first
        before = await controlled.get(PODSETS, "web")
        await controlled.stays(lambda: controlled.has_pods(2), 1.5)
        after = await controlled.get(PODSETS, "web")
        assert before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]

    await controlled.eventually(comes_to_rest)
    assert await controlled.events("FailedCreate")

    await controlled.delete(RESOURCE_QUOTAS, "few")
    await controlled.has_pods(5)

    async def is_forgotten() -> None:
        assert await controlled.condition(PODSETS, "ReplicaFailure") == {}

    await controlled.eventually(is_forgotten)


async def test_a_level_podset_costs_no_write(live: World) -> None:
    await live.podset(3)
    await live.has_status(PODSETS, availableReplicas=3)
    before = await live.get(PODSETS, "web")

    await live.patch(PODSETS, "web", {"metadata": {"annotations": {"touched": "1"}}})
    await asyncio.sleep(0.5)

    after = await live.get(PODSETS, "web")
    entries = [
        entry
        for entry in after["metadata"]["managedFields"]
        if entry["manager"] != "levelset-tests"
    ]
    assert entries == [
        entry
        for entry in before["metadata"]["managedFields"]
        if entry["manager"] != "levelset-tests"
    ]
    assert len(await live.pods()) == 3


async def test_a_finalizer_on_a_pod_does_not_make_a_second_replacement(controlled: World) -> None:
    await controlled.podset(1)
    (pod,) = await controlled.has_pods(1)
    name = pod["metadata"]["name"]
    await controlled.api.patch(
        PODS,
        name,
        {"metadata": {"finalizers": ["example.com/wait"]}},
        namespace=controlled.namespace,
        type=PatchType.MERGE,
    )

    await controlled.delete(PODS, name)

    await controlled.has_pods(1)
    await controlled.stays(lambda: controlled.has_pods(1))
    await controlled.patch(PODS, name, {"metadata": {"finalizers": None}})
    await controlled.stays(lambda: controlled.has_pods(1))
