import pytest

from kube_runtime.ownership import owner_reference_to, plan_claims
from kube_runtime.resource import Json, Resource
from kube_runtime.selectors import LabelSelector

POD_SETS = Resource("levelset.dev", "v1alpha1", "podsets", "PodSet")
SELECTOR = LabelSelector.of_labels({"app": "web"})


def obj(
    name: str,
    *,
    labels: dict[str, str] | None = None,
    owner_uid: str | None = None,
    namespace: str = "ns",
    deleting: bool = False,
) -> Json:
    metadata: Json = {
        "namespace": namespace,
        "name": name,
        "uid": f"uid-of-{name}",
        "labels": labels if labels is not None else {"app": "web"},
    }
    if owner_uid is not None:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "X", "name": "x", "uid": owner_uid, "controller": True}
        ]
    if deleting:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"metadata": metadata}


OWNER = obj("owner")
MINE = "uid-of-owner"


@pytest.mark.parametrize(
    ("candidate", "bucket"),
    [
        (obj("a", owner_uid=MINE), "keep"),
        (obj("a", owner_uid=MINE, deleting=True), "keep"),
        (obj("a", owner_uid=MINE, labels={"app": "api"}), "release"),
        (obj("a", owner_uid="another"), None),
        (obj("a", owner_uid="another", labels={}), None),
        (obj("a"), "adopt"),
        (obj("a", labels={}), None),
        (obj("a", deleting=True), None),
        (obj("a", namespace="elsewhere"), None),
    ],
)
def test_each_candidate_has_its_place(candidate: Json, bucket: str | None) -> None:
    claims = plan_claims(OWNER, SELECTOR, [candidate])

    for name in ("keep", "adopt", "release"):
        expected = (candidate,) if name == bucket else ()
        assert getattr(claims, name) == expected


def test_an_owner_that_is_being_deleted_neither_adopts_nor_releases() -> None:
    owner = obj("owner", deleting=True)
    mine = obj("mine", owner_uid=MINE)
    stray = obj("stray", owner_uid=MINE, labels={})

    claims = plan_claims(owner, SELECTOR, [mine, stray, obj("orphan")])

    assert (claims.keep, claims.adopt, claims.release) == ((mine,), (), ())


def test_a_reference_that_is_not_the_controllers_does_not_count() -> None:
    candidate = obj("a", owner_uid=MINE)
    candidate["metadata"]["ownerReferences"][0]["controller"] = False

    assert plan_claims(OWNER, SELECTOR, [candidate]).adopt == (candidate,)


def test_an_owner_without_namespace_reaches_into_all() -> None:
    owner = obj("owner", namespace="")

    assert plan_claims(owner, SELECTOR, [obj("a")]).adopt == (obj("a"),)


def test_the_reference_holds_the_owner_back_until_its_objects_are_gone() -> None:
    assert owner_reference_to(OWNER, POD_SETS) == {
        "apiVersion": "levelset.dev/v1alpha1",
        "kind": "PodSet",
        "name": "owner",
        "uid": "uid-of-owner",
        "controller": True,
        "blockOwnerDeletion": True,
    }
