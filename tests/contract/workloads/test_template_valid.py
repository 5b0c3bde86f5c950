"""A template is tried before an old pod is touched."""

import pytest

from kube_runtime.api import PatchType
from kube_runtime.resource import NAMESPACES, RESOURCE_QUOTAS, Json
from tests.contract.workloads.world import World, image_of, template
from workloads.names import ROLLOUTS

pytestmark = pytest.mark.contract


async def is_blocked(world: World, reason: str, text: str) -> None:
    async def check() -> None:
        valid = await world.condition(ROLLOUTS, "TemplateValid")
        assert (valid.get("status"), valid.get("reason")) == ("False", reason), valid
        assert text in valid["message"]
        blocked = (await world.status(ROLLOUTS))["blockedBy"]
        assert blocked["reason"] == reason
        assert text in blocked["message"]
        await world.has_condition(ROLLOUTS, "Stalled", "True")

    await world.eventually(check)


def with_bad_port(image: str) -> Json:
    body = template(image)
    body["spec"]["containers"][0]["ports"] = [{"containerPort": 99999}]
    return body


async def test_a_template_that_the_server_refuses_touches_no_old_pod(live: World) -> None:
    await live.rollout(2)
    await live.is_complete()
    before = {pod["metadata"]["uid"] for pod in await live.pods()}

    await live.patch(ROLLOUTS, "web", {"spec": {"template": with_bad_port("web:2")}})

    await is_blocked(live, "TemplateInvalid", "containerPort")
    assert {pod["metadata"]["uid"] for pod in await live.pods()} == before
    assert [image_of(each) for each in await live.podsets()] == ["web:1"]
    await live.has_condition(ROLLOUTS, "Available", "True")
    await live.patch(ROLLOUTS, "web", {"spec": {"replicas": 3}})
    await live.has_status(ROLLOUTS, availableReplicas=3)
    good: Json = {"spec": {"template": template("web:3")}}
    good["spec"]["template"]["spec"]["containers"][0]["ports"] = None
    await live.patch(ROLLOUTS, "web", good)
    await live.is_complete()
    await live.has_condition(ROLLOUTS, "TemplateValid", "True")


async def test_a_first_template_that_is_refused_makes_no_podset(controlled: World) -> None:
    await controlled.rollout(1, template=with_bad_port("web:1"), progressDeadlineSeconds=1)

    await is_blocked(controlled, "TemplateInvalid", "containerPort")
    assert await controlled.podsets() == []

    async def is_late() -> None:
        progressing = await controlled.condition(ROLLOUTS, "Progressing")
        assert progressing["reason"] == "ProgressDeadlineExceeded"

    await controlled.eventually(is_late)


async def test_what_admission_refuses_is_told_as_such(live: World) -> None:
    await live.rollout(1)
    await live.is_complete()
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    await live.api.patch(
        NAMESPACES,
        live.namespace,
        {"metadata": {"labels": labels}},
        type=PatchType.MERGE,
    )

    async def is_enforced() -> None:
        await live.set_image("web:2")
        await is_blocked(live, "Admission", "violates PodSecurity")

    await is_enforced()
    assert len(await live.pods()) == 1


async def test_an_exceeded_quota_makes_no_template_invalid(live: World) -> None:
    await live.rollout(1)
    await live.is_complete()
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few"},
        "spec": {"hard": {"pods": "0"}},
    }
    await live.create(RESOURCE_QUOTAS, quota)

    await live.set_image("web:2")

    async def has_begun() -> None:
        assert len(await live.podsets()) == 2
        await live.has_condition(ROLLOUTS, "TemplateValid", "True")

    await live.eventually(has_begun)
