"""The Rollout controller against a real API server."""

import asyncio

import pytest

from kube_runtime.resource import PODS, RESOURCE_QUOTAS, Json, controller_of, uid_of
from local_cluster.kubectl import Kubectl
from tests.contract.workloads.world import World, image_of, podset, revision, template
from workloads import templates
from workloads.names import PODSETS, ROLLOUTS
from workloads.naming import podset_name

pytestmark = pytest.mark.contract


def sizes(podsets: list[Json]) -> dict[str, int]:
    return {image_of(each): each["spec"]["replicas"] for each in podsets}


async def has_sizes(world: World, **wanted: int) -> None:
    """Wait until the revisions have these sizes: v1=3 is the one with image web:1."""

    async def check() -> None:
        found = {
            image.replace("web:", "v"): size for image, size in sizes(await world.podsets()).items()
        }
        assert found == wanted

    await world.eventually(check)


async def test_a_new_rollout_gets_a_podset_of_its_template(live: World) -> None:
    created = await live.rollout(3)

    await live.is_complete(replicas=3, updatedReplicas=3, availableReplicas=3, revision=1)
    (only,) = await live.podsets()
    hash_ = only["metadata"]["labels"]["pod-template-hash"]
    owner = controller_of(only)
    assert owner is not None
    assert owner.uid == uid_of(created)
    assert only["metadata"]["name"] == f"web-{hash_}"
    assert only["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": hash_}
    assert revision(only) == "1"
    for pod in await live.pods():
        assert pod["metadata"]["labels"] == {"app": "web", "pod-template-hash": hash_}
    assert await live.events("ScalingPodSet") == [f"Scaled up podset web-{hash_} from 0 to 3"]
    progressing = await live.condition(ROLLOUTS, "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("True", "NewPodSetAvailable")
    await live.has_condition(ROLLOUTS, "Available", "True")


async def test_a_new_image_rolls_out_and_keeps_the_old_revision_at_zero(live: World) -> None:
    await live.rollout(4)
    await live.is_complete()

    await live.set_image("web:2")

    await has_sizes(live, v1=0, v2=4)
    await live.is_complete(revision=2, updatedReplicas=4, replicas=4)


async def test_a_rolling_update_keeps_within_surge_and_unavailable(controlled: World) -> None:
    strategy = {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 1}}
    await controlled.rollout(5, strategy=strategy)
    kubelet = asyncio.create_task(controlled.run_kubelet())
    await controlled.is_complete()
    most, fewest = 0, 5

    async def watch() -> None:
        nonlocal most, fewest
        async for event in controlled.api.watch(
            PODS,
            namespace=controlled.namespace,
            resource_version=(
                await controlled.api.list(PODS, namespace=controlled.namespace)
            ).resource_version,
        ):
            assert event.object
            pods = await controlled.pods()
            ready = [pod for pod in pods if "conditions" in pod["status"]]
            most, fewest = max(most, len(pods)), min(fewest, len(ready))

    watcher = asyncio.create_task(watch())
    await asyncio.sleep(0.1)
    await controlled.set_image("web:2")
    await controlled.is_complete(revision=2)
    for task in (watcher, kubelet):
        task.cancel()
    await asyncio.gather(watcher, kubelet, return_exceptions=True)

    assert 5 < most <= 7
    assert fewest >= 4


async def test_going_back_takes_up_the_old_podset_under_a_new_number(live: World) -> None:
    await live.rollout(2)
    await live.is_complete()
    first = await live.podset_of("web:1")
    await live.set_image("web:2")
    await live.is_complete(revision=2)

    await live.set_image("web:1")

    await live.is_complete(revision=3)
    again = await live.podset_of("web:1")
    assert uid_of(again) == uid_of(first)
    assert revision(again) == "3"
    assert again["metadata"]["annotations"]["levelset.dev/revision-history"] == "1"
    await has_sizes(live, v1=2, v2=0)


async def test_recreate_waits_for_the_last_old_pod(controlled: World) -> None:
    await controlled.rollout(2, strategy={"type": "Recreate"})
    for pod in await controlled.has_pods(2):
        await controlled.bind(pod)
        await controlled.make_ready(pod)
    await controlled.is_complete()

    await controlled.set_image("web:2")
    await controlled.has_status(
        PODSETS, (await controlled.podsets())[0]["metadata"]["name"], terminatingReplicas=2
    )

    async def no_new_pod() -> None:
        assert {pod["spec"]["containers"][0]["image"] for pod in await controlled.all(PODS)} == {
            "web:1"
        }

    await controlled.stays(no_new_pod)
    await controlled.finish_terminations()
    pods = await controlled.has_pods(2)
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"web:2"}


async def test_terminating_pods_hold_the_next_ones_back_where_that_is_asked_for(
    controlled: World,
) -> None:
    await controlled.rollout(
        2,
        podReplacementPolicy="TerminationComplete",
        strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
    )
    for pod in await controlled.has_pods(2):
        await controlled.bind(pod)
        await controlled.make_ready(pod)
    await controlled.is_complete()

    await controlled.set_image("web:2")

    await has_sizes(controlled, v1=1, v2=0)
    await controlled.stays(lambda: has_sizes(controlled, v1=1, v2=0))
    await controlled.has_status(ROLLOUTS, terminatingReplicas=1)
    await controlled.finish_terminations()
    await has_sizes(controlled, v1=1, v2=1)


async def test_a_paused_rollout_scales_but_does_not_roll(live: World) -> None:
    await live.rollout(2)
    await live.is_complete()
    await live.patch(ROLLOUTS, "web", {"spec": {"paused": True, "template": template("web:2")}})

    async def is_paused() -> None:
        progressing = await live.condition(ROLLOUTS, "Progressing")
        assert (progressing["status"], progressing["reason"]) == ("Unknown", "RolloutPaused")

    await live.eventually(is_paused)
    await live.scale(ROLLOUTS, "web", 4)
    await has_sizes(live, v1=4)
    await live.stays(lambda: has_sizes(live, v1=4))

    await live.patch(ROLLOUTS, "web", {"spec": {"paused": False}})

    await live.is_complete(revision=2)
    await has_sizes(live, v1=0, v2=4)


async def test_a_rollout_born_paused_makes_no_pods(live: World) -> None:
    await live.rollout(2, paused=True)
    await live.has_status(ROLLOUTS, replicas=0)

    await live.stays(lambda: live.has_pods(0))
    await live.patch(ROLLOUTS, "web", {"spec": {"paused": False}})

    await live.is_complete(revision=1)


async def test_scaling_in_the_middle_of_a_rollout_gives_everybody_a_share(
    controlled: World,
) -> None:
    kubelet = asyncio.create_task(controlled.run_kubelet())
    controlled.broken_images.add("web:2")
    await controlled.rollout(10, strategy={"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}})
    await controlled.is_complete()
    await controlled.set_image("web:2")
    await has_sizes(controlled, v1=8, v2=5)

    await controlled.scale(ROLLOUTS, "web", 30)

    await has_sizes(controlled, v1=20, v2=13)
    await controlled.has_status(ROLLOUTS, availableReplicas=20)
    controlled.broken_images.clear()
    await controlled.is_complete(replicas=30, revision=2)
    kubelet.cancel()


async def test_kubectl_scale_and_the_scale_that_an_autoscaler_reads(
    live: World, kubectl: Kubectl
) -> None:
    await live.rollout(1)
    await live.is_complete()

    kubectl("scale", "rollout/web", "--replicas=3", "-n", live.namespace)

    await live.is_complete(replicas=3)
    scale = await live.api.get(ROLLOUTS, "web", namespace=live.namespace, subresource="scale")
    assert (scale["spec"], scale["status"]) == (
        {"replicas": 3},
        {"replicas": 3, "selector": "app=web"},
    )
    kubectl("wait", "--for=condition=Ready", "rollout/web", "-n", live.namespace, "--timeout=10s")
    shown = kubectl("get", "ro,pset", "-n", live.namespace).stdout
    assert "RolloutComplete" in shown
    assert "PodsAvailable" in shown


async def test_a_podset_scaled_by_hand_is_put_right(live: World) -> None:
    await live.rollout(2)
    await live.is_complete()
    (only,) = await live.podsets()

    await live.scale(PODSETS, only["metadata"]["name"], 5)

    await has_sizes(live, v1=2)
    await live.is_complete(replicas=2)


async def test_a_deleted_podset_is_made_again(live: World) -> None:
    await live.rollout(2)
    await live.is_complete()
    (only,) = await live.podsets()

    await live.delete(PODSETS, only["metadata"]["name"])

    async def check() -> None:
        (again,) = await live.podsets()
        assert uid_of(again) != uid_of(only)

    await live.eventually(check)
    await live.is_complete()


async def test_the_oldest_revisions_are_forgotten(live: World) -> None:
    await live.rollout(1, revisionHistoryLimit=2)
    for number in range(1, 6):
        await live.set_image(f"web:{number}")
        await live.is_complete(revision=number)

    await has_sizes(live, v3=0, v4=0, v5=1)


async def test_a_taken_name_makes_another_hash(live: World) -> None:
    raw = template()
    taken = podset_name("web", templates.hash_of(raw, 0))
    stranger = podset(taken, 0, selector={"matchLabels": {"app": "stranger"}})
    stranger["spec"]["template"]["metadata"]["labels"] = {"app": "stranger"}
    await live.create(PODSETS, stranger)

    await live.rollout(2)

    await live.is_complete(collisionCount=1)
    ours = [each for each in await live.podsets() if each["metadata"]["name"] != taken]
    assert [each["metadata"]["name"] for each in ours] == [
        podset_name("web", templates.hash_of(raw, 1))
    ]


async def test_a_rollout_that_does_not_progress_is_reported_and_can_still_end_well(
    controlled: World,
) -> None:
    kubelet = asyncio.create_task(controlled.run_kubelet())
    controlled.broken_images.add("web:2")
    await controlled.rollout(2, progressDeadlineSeconds=4, rollback={"mode": "Manual"})
    await controlled.is_complete()

    await controlled.set_image("web:2")

    async def has_stalled() -> None:
        progressing = await controlled.condition(ROLLOUTS, "Progressing")
        assert (progressing["status"], progressing["reason"]) == (
            "False",
            "ProgressDeadlineExceeded",
        )
        await controlled.has_condition(ROLLOUTS, "Stalled", "True")
        await controlled.has_condition(ROLLOUTS, "Available", "True")

    await controlled.eventually(has_stalled)
    controlled.broken_images.clear()
    await controlled.is_complete(revision=2)
    assert await controlled.condition(ROLLOUTS, "Stalled") == {}
    kubelet.cancel()


async def test_going_back_to_a_revision_that_cannot_start_is_reported_too(
    controlled: World,
) -> None:
    kubelet = asyncio.create_task(controlled.run_kubelet())
    await controlled.rollout(2, progressDeadlineSeconds=4)
    await controlled.is_complete()
    await controlled.set_image("web:2")
    await controlled.is_complete(revision=2)
    controlled.broken_images.add("web:1")

    await controlled.set_image("web:1")

    async def has_stalled() -> None:
        progressing = await controlled.condition(ROLLOUTS, "Progressing")
        assert progressing["reason"] == "ProgressDeadlineExceeded"

    await controlled.eventually(has_stalled)
    kubelet.cancel()


async def test_rolling_over_stops_a_rollout_that_is_under_way(controlled: World) -> None:
    kubelet = asyncio.create_task(controlled.run_kubelet())
    controlled.broken_images.add("web:2")
    await controlled.rollout(4)
    await controlled.is_complete()
    await controlled.set_image("web:2")
    await has_sizes(controlled, v1=3, v2=2)

    await controlled.set_image("web:3")

    await controlled.is_complete(revision=3)
    await has_sizes(controlled, v1=0, v2=0, v3=4)
    kubelet.cancel()


async def test_annotations_travel_to_the_revision_and_leave_it_again(live: World) -> None:
    await live.rollout(1)
    await live.is_complete()
    annotations = {"kubernetes.io/change-cause": "first", "team": "a"}

    await live.patch(ROLLOUTS, "web", {"metadata": {"annotations": annotations}})

    async def has(**wanted: str | None) -> None:
        (only,) = await live.podsets()
        found = only["metadata"]["annotations"]
        assert {key: found.get(key) for key in wanted} == wanted

    await live.eventually(lambda: has(team="a", **{"kubernetes.io/change-cause": "first"}))
    await live.patch(ROLLOUTS, "web", {"metadata": {"annotations": {"team": None}}})
    await live.eventually(lambda: has(team=None, **{"kubernetes.io/change-cause": "first"}))


async def test_min_ready_seconds_reaches_the_podset_without_a_new_revision(live: World) -> None:
    await live.rollout(1)
    await live.is_complete()

    await live.patch(ROLLOUTS, "web", {"spec": {"minReadySeconds": 1}})

    async def check() -> None:
        (only,) = await live.podsets()
        assert only["spec"]["minReadySeconds"] == 1

    await live.eventually(check)


async def test_a_matching_podset_is_adopted_as_an_old_revision(live: World) -> None:
    labels = {"app": "web", "version": "old"}
    orphan = podset("orphan", 1, selector={"matchLabels": labels})
    orphan["metadata"]["labels"] = labels
    orphan["spec"]["template"] = template("web:0", version="old")
    await live.create(PODSETS, orphan)
    created = await live.rollout(2)

    async def check() -> None:
        owner = controller_of(await live.get(PODSETS, "orphan"))
        assert owner is not None
        assert owner.uid == uid_of(created)

    await live.eventually(check)
    await live.is_complete()
    await has_sizes(live, v0=0, v1=2)


async def test_a_relabelled_podset_is_released_and_replaced(live: World) -> None:
    await live.rollout(1)
    await live.is_complete()
    (only,) = await live.podsets()
    name = only["metadata"]["name"]

    await live.patch(PODSETS, name, {"metadata": {"labels": {"app": "other"}}})

    async def check() -> None:
        assert controller_of(await live.get(PODSETS, name)) is None
        assert len(await live.podsets()) == 2

    await live.eventually(check)


async def test_a_quota_is_told_by_the_rollout_too(controlled: World) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    await controlled.create(RESOURCE_QUOTAS, {"apiVersion": "v1", "kind": "ResourceQuota", **quota})
    body = {"status": {"hard": {"pods": "0"}, "used": {"pods": "0"}}}
    await controlled.patch(RESOURCE_QUOTAS, "none", body, subresource="status")

    await controlled.rollout(1)

    async def check() -> None:
        failure = await controlled.condition(ROLLOUTS, "ReplicaFailure")
        assert failure.get("reason") == "FailedCreate"
        assert "exceeded quota" in failure["message"]

    await controlled.eventually(check)


async def test_a_rollout_scaled_to_zero_and_back(live: World) -> None:
    await live.rollout(3)
    await live.is_complete()

    await live.scale(ROLLOUTS, "web", 0)
    await live.is_complete(replicas=0)
    await live.scale(ROLLOUTS, "web", 2)

    await live.is_complete(replicas=2, revision=1)


async def test_a_deleting_rollout_makes_nothing(live: World) -> None:
    await live.rollout(1)
    await live.is_complete()
    await live.delete(ROLLOUTS, "web", propagation_policy="Foreground")

    await live.set_image("web:2")

    async def one_podset() -> None:
        assert list(sizes(await live.podsets())) == ["web:1"]

    await live.stays(one_podset)
