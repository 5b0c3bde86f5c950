"""What the two webhooks make of the judge's verdicts."""

from collections.abc import Iterable
from typing import Any

import pytest

from supply_chain.admission import webhook
from supply_chain.admission.images import PodTemplate
from supply_chain.admission.judge import Judge
from supply_chain.admission.review import Review
from supply_chain.plan.verdict import ImageVerdict
from supply_chain.registry.reference import Digest

Json = dict[str, Any]
DIGEST = Digest("sha256:" + "ab" * 32)
GOOD, BAD, FREE = "r.test/good:1", "r.test/bad:1", "r.test/free:1"


class FakeJudge(Judge):
    """Knows three images, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def judge_all(
        self, images: Iterable[str], namespace: str, template: PodTemplate
    ) -> dict[str, ImageVerdict]:
        different = list(dict.fromkeys(images))
        self.asked += different
        return {image: self._verdict_on(image, namespace, template) for image in different}

    def _verdict_on(self, image: str, namespace: str, template: PodTemplate) -> ImageVerdict:
        assert namespace == "team"
        assert template.service_account == "default"
        if image == FREE:
            return ImageVerdict(image, is_allowed=True, message="")
        is_good = image.startswith(GOOD.removesuffix(":1"))
        return ImageVerdict(image, is_good, f"{image} said no", DIGEST, is_matched=True)


def pod(*names: str) -> Json:
    containers = [{"name": f"c{n}", "image": image} for n, image in enumerate(names)]
    return {"spec": {"containers": containers}}


def review(
    obj: Json,
    *,
    kind: str = "Pod",
    operation: str = "CREATE",
    sub: str = "",
    old: Json | None = None,
) -> Review:
    return Review("u", operation, kind, sub, "team", "web", obj, old)


async def test_tags_of_verified_images_become_digests_and_others_stay() -> None:
    pinned = f"r.test/good@{DIGEST}"

    answer = await webhook.mutate(review(pod(GOOD, FREE, pinned)), FakeJudge())

    step = {"op": "replace", "path": "/spec/containers/0/image", "value": pinned}
    assert (answer.is_allowed, list(answer.patch)) == (True, [step])


@pytest.mark.parametrize("decide", [webhook.mutate, webhook.validate])
async def test_one_bad_image_refuses_the_pod_with_its_message(decide: Any) -> None:
    answer = await decide(review(pod(FREE, BAD)), FakeJudge())

    assert (answer.is_allowed, answer.message) == (False, f"{BAD} said no")
    assert not answer.patch


async def test_a_verified_tag_that_nobody_pinned_is_refused_in_a_pod_and_not_in_a_template() -> (
    None
):
    template = {"spec": {"template": pod(GOOD)}}

    in_pod = await webhook.validate(review(pod(GOOD)), FakeJudge())
    in_template = await webhook.validate(review(template, kind="Deployment"), FakeJudge())

    assert not in_pod.is_allowed
    assert "not pinned" in in_pod.message
    assert in_template.is_allowed


async def test_templates_are_never_changed() -> None:
    judge = FakeJudge()

    answer = await webhook.mutate(review({"spec": {"template": pod(BAD)}}, kind="Rollout"), judge)

    assert (answer.is_allowed, list(answer.patch), judge.asked) == (True, [], [])


@pytest.mark.parametrize("decide", [webhook.mutate, webhook.validate])
@pytest.mark.parametrize(
    "asked",
    [
        review(pod(BAD), operation="UPDATE", old=pod(BAD)),
        review(pod(BAD), operation="UPDATE", sub="status", old=pod(GOOD)),
        review({}, operation="DELETE", old=pod(BAD)),
        review(pod(BAD), operation="CONNECT", sub="exec"),
    ],
    ids=["no image changed", "status", "delete", "connect"],
)
async def test_what_brings_no_image_in_asks_nobody(decide: Any, asked: Review) -> None:
    judge = FakeJudge()

    answer = await decide(asked, judge)

    assert (answer.is_allowed, judge.asked) == (True, [])


async def test_only_the_new_images_of_an_update_are_judged() -> None:
    judge = FakeJudge()
    update = review(pod(BAD, GOOD), operation="UPDATE", old=pod(BAD, FREE))

    answer = await webhook.mutate(update, judge)

    assert answer.is_allowed
    assert judge.asked == [GOOD]
