"""What every scenario must end in, whatever happened on the way: exactly what the user asked for.

Each Rollout is Ready, has exactly its number of pods, all of the wanted template and of one PodSet,
nothing left in older PodSets, and its revision is the newest; no pod is without an owner.
"""

import asyncio
from collections.abc import Sequence

from kube_runtime.api import ApiClient
from kube_runtime.resource import Json, controller_uid_of, is_deleting, labels_of, uid_of
from tests.chaos.tally import Tally
from tests.contract.workloads.world import World, image_of, revision
from workloads.names import PODSETS, ROLLOUTS

_SECONDS = 120.0
_STAYS_SECONDS = 1.0


async def is_level(
    api: ApiClient, namespace: str, apps: Sequence[str], tally: Tally, *, seconds: float = _SECONDS
) -> None:
    """Wait until all Rollouts are as asked for, and make sure that they stay so."""
    world = World(api, namespace)

    async def check() -> None:
        rollouts, podsets, pods = await asyncio.gather(
            world.all(ROLLOUTS), world.all(PODSETS), world.pods()
        )
        assert sorted(rollout["metadata"]["name"] for rollout in rollouts) == sorted(apps)
        for rollout in rollouts:
            _check_rollout(
                rollout, _of(podsets, rollout), [pod for pod in _of(pods, rollout) if _lives(pod)]
            )
        owners = {uid_of(podset) for podset in podsets}
        assert {controller_uid_of(pod) for pod in pods} <= owners

    await world.eventually(check, seconds=seconds)
    await world.stays(check, _STAYS_SECONDS)
    tally.check("level in the end")


def _check_rollout(rollout: Json, podsets: Sequence[Json], pods: Sequence[Json]) -> None:
    name, spec, status = rollout["metadata"]["name"], rollout["spec"], rollout["status"]
    assert status["observedGeneration"] == rollout["metadata"]["generation"], (name, status)
    ready = {entry["type"]: entry["status"] for entry in status["conditions"]}["Ready"]
    assert ready == "True", (name, status)
    assert status["updatedReplicas"] == spec["replicas"], (name, status)

    (current,) = [podset for podset in podsets if image_of(podset) == image_of(rollout)]
    assert current["metadata"]["name"] == status["updatedPodSet"], (name, status)
    sizes = {podset["metadata"]["name"]: podset["spec"]["replicas"] for podset in podsets}
    others = [size for podset, size in sizes.items() if podset != status["updatedPodSet"]]
    assert not any(others), (name, sizes)
    numbers = [int(revision(podset) or 0) for podset in podsets]
    assert int(revision(current) or 0) == max(numbers) == status["revision"], (name, numbers)

    assert len(pods) == spec["replicas"], (name, [pod["metadata"]["name"] for pod in pods])
    assert {_image(pod) for pod in pods} <= {image_of(rollout)}, name
    assert {controller_uid_of(pod) for pod in pods} <= {uid_of(current)}, name


def _of(objects: Sequence[Json], rollout: Json) -> list[Json]:
    app = rollout["metadata"]["name"]
    return [obj for obj in objects if labels_of(obj).get("app") == app]


def _image(pod: Json) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image


def _lives(pod: Json) -> bool:
    return not is_deleting(pod) and pod["status"].get("phase") not in {"Failed", "Succeeded"}
