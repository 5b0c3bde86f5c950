"""Admission reviews: what is asked, which images are meant, what is answered."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supply_chain.admission import images, review
from supply_chain.admission.images import PodTemplate, UnreadableObject

Json = dict[str, Any]


def pod(*names: str, **spec: Any) -> Json:
    containers = [{"name": f"c{n}", "image": image} for n, image in enumerate(names)]
    return {"spec": {"containers": containers, **spec}}


def used(template: PodTemplate) -> list[tuple[str, str]]:
    return [(use.pointer, use.image) for use in template.uses]


def test_images_are_found_wherever_a_pod_may_name_one() -> None:
    obj = pod(
        "app",
        initContainers=[{"name": "i", "image": "init"}],
        ephemeralContainers=[{"name": "e", "image": "debug"}],
        volumes=[{"name": "d", "emptyDir": {}}, {"name": "v", "image": {"reference": "data"}}],
    )

    assert used(images.read_template(obj, "Pod")) == [
        ("/spec/initContainers/0/image", "init"),
        ("/spec/containers/0/image", "app"),
        ("/spec/ephemeralContainers/0/image", "debug"),
        ("/spec/volumes/1/image/reference", "data"),
    ]


@pytest.mark.parametrize(
    "kind",
    ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "ReplicationController",
     "PodSet", "Rollout"],
)  # fmt: skip
def test_templates_are_found_in_every_workload_kind(kind: str) -> None:
    found = used(images.read_template({"spec": {"template": pod("app")}}, kind))

    assert found == [("/spec/template/spec/containers/0/image", "app")]


def test_the_template_of_a_cron_job_is_one_level_deeper() -> None:
    obj = {"spec": {"jobTemplate": {"spec": {"template": pod("app")}}}}

    [(pointer, _)] = used(images.read_template(obj, "CronJob"))

    assert pointer == "/spec/jobTemplate/spec/template/spec/containers/0/image"


@pytest.mark.parametrize(
    ("obj", "kind"),
    [
        (pod("app"), "Widget"),
        ({}, "Pod"),
        ({"spec": {"containers": "none"}}, "Pod"),
        ({"spec": {"containers": [7]}}, "Pod"),
        ({"spec": {"containers": [{"image": 7}]}}, "Pod"),
        ({"spec": {"template": {}}}, "PodSet"),
    ],
)
def test_an_object_that_cannot_be_read_is_an_error_and_never_no_images(
    obj: Json, kind: str
) -> None:
    with pytest.raises(UnreadableObject):
        images.read_template(obj, kind)


def test_only_images_that_are_new_in_their_place_count_as_changed() -> None:
    old = images.read_template(pod("app:1", "side:1"), "Pod")
    swapped = images.read_template(pod("side:1", "side:1"), "Pod")
    same = images.read_template(pod("app:1", "side:1", hostname="x"), "Pod")

    assert [use.image for use in images.changed_uses(swapped, old)] == ["side:1"]
    assert images.changed_uses(same, old) == []
    assert len(images.changed_uses(same, None)) == 2


def request(**more: Any) -> Json:
    basic = {"uid": "u", "operation": "CREATE", "kind": {"kind": "Pod"}, "object": pod("app")}
    return {"request": {**basic, **more}}


@pytest.mark.parametrize(
    ("operation", "subresource", "is_relevant"),
    [
        ("CREATE", "", True),
        ("UPDATE", "", True),
        ("UPDATE", "ephemeralcontainers", True),
        ("UPDATE", "status", False),
        ("UPDATE", "scale", False),
        ("DELETE", "", False),
        ("CONNECT", "exec", False),
    ],
)
def test_deletes_scales_and_statuses_are_none_of_our_business(
    operation: str, subresource: str, *, is_relevant: bool
) -> None:
    raw = request(operation=operation, subResource=subresource)

    assert review.parse_review(json.dumps(raw).encode()).is_relevant is is_relevant


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"null", b"[]", b"{}", b'{"request": 7}', json.dumps(request(uid=7)).encode(),
     json.dumps(request(kind=7)).encode(), json.dumps(request(operation="ANY")).encode(), json.dumps(request(object=7)).encode()],
)  # fmt: skip
def test_what_is_no_review_is_refused(raw: bytes) -> None:
    with pytest.raises(review.BadReview):
        review.parse_review(raw)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_review_or_refused_cleanly(raw: bytes) -> None:
    with pytest.raises(review.BadReview):
        review.parse_review(raw)


def test_a_denial_has_a_code_a_reason_and_the_message() -> None:
    answer = review.Answer(is_allowed=False, message="no")

    response = json.loads(review.render("u", answer))["response"]

    status = {"code": 403, "reason": "Forbidden", "message": "no"}
    assert response == {"uid": "u", "allowed": False, "status": status}


def test_a_patch_travels_as_base64() -> None:
    step = {"op": "replace", "path": "/spec/containers/0/image", "value": "x"}

    response = json.loads(review.render("u", review.Answer(is_allowed=True, patch=[step])))[
        "response"
    ]

    assert json.loads(base64.b64decode(response["patch"])) == [step]
    assert response["patchType"] == "JSONPatch"
