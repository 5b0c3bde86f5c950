"""ConfigMaps and Secrets as a part of each revision, against a real API server."""

import json
import logging
from typing import Any

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import CONFIG_MAPS, PODS, SECRETS, Json, Resource
from tests.contract.workloads.world import World, running_controllers
from workloads import names
from workloads.rollout.config.copies import SECRET_TYPE
from workloads.rollout.config.standing import CONFIG_SNAPSHOTTED

pytestmark = pytest.mark.contract

PASSWORD = "correct-horse-battery-staple"


def template(*, optional: bool = False, image: str = "web:1") -> Json:
    environment = [
        {"configMapRef": {"name": "settings"}},
        {"secretRef": {"name": "login", "optional": optional}},
    ]
    container = {"name": "web", "image": image, "envFrom": environment}
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}


def read_by(obj: Json) -> list[str]:
    """The names that a PodSet's pods read."""
    (container,) = obj["spec"]["template"]["spec"]["containers"]
    config, secret = container["envFrom"]
    return [config["configMapRef"]["name"], secret["secretRef"]["name"]]


async def put(world: World, resource: Resource, name: str, **data: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": resource.kind,
        "metadata": {"name": name, "namespace": world.namespace},
        ("stringData" if resource is SECRETS else "data"): data,
    }
    await world.api.apply(resource, body, field_manager="tests", force=True)


async def configured(world: World, **spec: Any) -> None:
    """A complete Rollout that reads one ConfigMap and one Secret."""
    await put(world, CONFIG_MAPS, "settings", level="one")
    await put(world, SECRETS, "login", password=PASSWORD)
    await world.rollout(1, **({"template": template()} | spec))
    await world.is_complete(revision=1)


async def let_work_without_config(world: World, user: str) -> None:
    """Give a user what the controllers need, but for ConfigMaps and Secrets."""
    group = "rbac.authorization.k8s.io"
    path = f"/apis/{group}/v1/namespaces/{world.namespace}"
    everything = ["get", "list", "watch", "create", "update", "patch", "delete"]
    rules = [
        {"apiGroups": [names.GROUP], "resources": ["*"], "verbs": everything},
        {"apiGroups": [""], "resources": ["pods"], "verbs": everything},
    ]
    role: Json = {"metadata": {"name": user}, "rules": rules}
    binding: Json = {
        "metadata": {"name": user},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": user},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
    }
    await world.api.request("POST", f"{path}/roles", body=role)
    await world.api.request("POST", f"{path}/rolebindings", body=binding)


async def copies(world: World, resource: Resource) -> list[Json]:
    return await world.all(resource, label_selector=names.CONFIG_OF)


async def says(world: World, status: str, reason: str) -> None:
    entry = await world.condition(names.ROLLOUTS, CONFIG_SNAPSHOTTED)
    assert (entry.get("status"), entry.get("reason")) == (status, reason), entry


async def test_a_revision_reads_copies_of_its_own(live: World) -> None:
    await configured(live)

    async def belong_to_it() -> None:
        (podset,) = await live.podsets()
        found = [*await copies(live, CONFIG_MAPS), *await copies(live, SECRETS)]
        assert [each["metadata"]["name"] for each in found] == read_by(podset)
        for each in found:
            owners = [owner["uid"] for owner in each["metadata"]["ownerReferences"]]
            assert owners == [podset["metadata"]["uid"]]
            assert each["immutable"] is True
        assert found[0]["data"] == {"level": "one"}
        assert found[1]["type"] == SECRET_TYPE

    await live.eventually(belong_to_it)
    (pod,) = await live.pods()
    assert pod["spec"]["containers"][0]["envFrom"][0]["configMapRef"]["name"] != "settings"
    await says(live, "True", "Snapshotted")


async def test_a_change_rolls_and_its_undoing_brings_the_old_revision_back(live: World) -> None:
    await configured(live)
    (first,) = await live.podsets()

    await put(live, CONFIG_MAPS, "settings", level="two")
    await live.is_complete(revision=2)
    await put(live, CONFIG_MAPS, "settings", level="one")
    await live.is_complete(revision=3)

    assert (await live.status(names.ROLLOUTS))["updatedPodSet"] == first["metadata"]["name"]
    assert len(await live.podsets()) == 2
    assert len(await copies(live, CONFIG_MAPS)) == 2
    assert len(await copies(live, SECRETS)) == 1


async def test_undo_by_template_brings_the_old_configuration_back(live: World) -> None:
    await configured(live)
    (first,) = await live.podsets()
    await put(live, SECRETS, "login", password="changed")
    await live.is_complete(revision=2)

    old = first["spec"]["template"]
    del old["metadata"]["labels"][names.POD_TEMPLATE_HASH]
    await live.patch(names.ROLLOUTS, "web", {"spec": {"template": old}})
    await live.is_complete(revision=3)

    assert (await live.status(names.ROLLOUTS))["updatedPodSet"] == first["metadata"]["name"]


async def test_what_only_looks_changed_does_not_roll(live: World) -> None:
    await configured(live)
    await live.patch(CONFIG_MAPS, "settings", {"metadata": {"labels": {"new": "label"}}})
    await live.delete(SECRETS, "login")
    await put(live, SECRETS, "login", password=PASSWORD)

    async def is_the_same() -> None:
        assert len(await live.podsets()) == 1

    await live.stays(is_the_same, seconds=2)


async def test_a_revision_that_is_forgotten_takes_its_copies_along(live: World) -> None:
    await configured(live, revisionHistoryLimit=0)
    await put(live, CONFIG_MAPS, "settings", level="two")
    await live.is_complete(revision=2)

    async def one_is_left() -> None:
        (copy,) = await copies(live, CONFIG_MAPS)
        assert copy["data"] == {"level": "two"}

    await live.eventually(one_is_left)
    await live.has_pods(1)


async def test_a_secret_is_written_nowhere_but_into_its_copy(
    live: World, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        await configured(live)
        await put(live, SECRETS, "login", password=f"{PASSWORD}-2")
        await live.is_complete(revision=2)

    events = await live.api.request(
        "GET", f"/apis/events.k8s.io/v1/namespaces/{live.namespace}/events"
    )
    shown = [await live.all(kind) for kind in (names.ROLLOUTS, names.PODSETS, PODS)]
    texts = json.dumps([events, shown]) + caplog.text
    assert PASSWORD not in texts
    assert len(await copies(live, SECRETS)) == 2


async def test_what_is_missing_is_named_and_taken_up_when_it_comes(live: World) -> None:
    await put(live, CONFIG_MAPS, "settings", level="one")
    await live.rollout(1, template=template())
    await live.eventually(lambda: says(live, "False", "Missing"))
    await live.is_complete(revision=1)

    await put(live, SECRETS, "login", password=PASSWORD)
    await live.eventually(lambda: says(live, "True", "Snapshotted"))

    (podset,) = await live.podsets()
    assert "login" not in read_by(podset)
    assert len(await copies(live, SECRETS)) == 1


async def test_an_optional_one_that_comes_rolls(live: World) -> None:
    await put(live, CONFIG_MAPS, "settings", level="one")
    await live.rollout(1, template=template(optional=True))
    await live.is_complete(revision=1)
    await says(live, "True", "Snapshotted")

    await put(live, SECRETS, "login", password=PASSWORD)

    await live.is_complete(revision=2)


async def test_switching_it_on_and_off_replaces_no_pod(live: World) -> None:
    await configured(live, config={"mode": "Ignore"})
    (pod,) = await live.pods()
    assert await copies(live, CONFIG_MAPS) == []

    await live.patch(names.ROLLOUTS, "web", {"spec": {"config": {"mode": "Snapshot"}}})
    await live.eventually(lambda: says(live, "True", "Snapshotted"))
    await live.patch(names.ROLLOUTS, "web", {"spec": {"config": {"mode": "Ignore"}}})
    await put(live, CONFIG_MAPS, "settings", level="two")

    async def is_the_same() -> None:
        (still,) = await live.pods()
        assert still["metadata"]["uid"] == pod["metadata"]["uid"]

    await live.stays(is_the_same, seconds=2)
    assert len(await live.podsets()) == 1


async def test_without_the_right_to_read_it_rolls_all_the_same_and_says_so(
    world: World, api: ApiClient
) -> None:
    await let_work_without_config(world, "blind")
    async with running_controllers(api.impersonating("blind"), world.namespace):
        await put(world, CONFIG_MAPS, "settings", level="one")
        await world.rollout(1, template=template())
        (pod,) = await world.has_pods(1)
        await world.make_ready(pod)
        await world.eventually(lambda: says(world, "False", "Unreadable"))

    assert read_by((await world.podsets())[0]) == ["settings", "login"]
