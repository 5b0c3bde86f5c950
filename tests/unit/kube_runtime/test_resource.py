"""How kinds are addressed and how raw metadata is read."""

import pytest

from kube_runtime.resource import (
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    Json,
    Key,
    OwnerReference,
    Resource,
    Uid,
    annotations_of,
    controller_of,
    controller_uid_of,
    generation_of,
    is_deleting,
    labels_of,
    owner_references_of,
    resource_version_of,
    uid_of,
)

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-1"}


@pytest.mark.parametrize(
    ("resource", "arguments", "path"),
    [
        (PODS, {}, "/api/v1/pods"),
        (PODS, {"namespace": "shop"}, "/api/v1/namespaces/shop/pods"),
        (PODS, {"namespace": "shop", "name": "web"}, "/api/v1/namespaces/shop/pods/web"),
        (
            PODS,
            {"namespace": "shop", "name": "web", "subresource": "status"},
            "/api/v1/namespaces/shop/pods/web/status",
        ),
        (NODES, {"name": "one"}, "/api/v1/nodes/one"),
        (NODES, {"namespace": "", "name": "one"}, "/api/v1/nodes/one"),
        (
            NAMESPACES,
            {"name": "shop", "subresource": "finalize"},
            "/api/v1/namespaces/shop/finalize",
        ),
        (
            REPLICA_SETS,
            {"namespace": "shop", "name": "a/../b?c"},
            "/apis/apps/v1/namespaces/shop/replicasets/a%2F..%2Fb%3Fc",
        ),
    ],
)
def test_a_path_names_group_namespace_object_and_subresource(
    resource: Resource, arguments: dict[str, str], path: str
) -> None:
    assert resource.path(**arguments) == path


def test_a_cluster_scoped_kind_ignores_a_namespace() -> None:
    assert NODES.path(namespace="shop") == "/api/v1/nodes"


def test_a_kind_prints_as_its_crd_is_called() -> None:
    assert str(REPLICA_SETS) == "replicasets.apps"
    assert str(PODS) == "pods"
    assert REPLICA_SETS.api_version == "apps/v1"


def test_a_key_prints_as_kubectl_names_objects() -> None:
    assert str(Key("shop", "web")) == "shop/web"
    assert str(Key("", "node-1")) == "node-1"
    assert Key.of({"metadata": {"name": "node-1"}}) == Key("", "node-1")
    assert sorted([Key("b", "a"), Key("a", "b")]) == [Key("a", "b"), Key("b", "a")]


def test_metadata_that_is_absent_reads_as_nothing() -> None:
    bare: Json = {"metadata": {"name": "web"}}

    assert uid_of(bare) == ""
    assert labels_of(bare) == {}
    assert annotations_of(bare) == {}
    assert resource_version_of(bare) == ""
    assert generation_of(bare) == 0
    assert not is_deleting(bare)
    assert owner_references_of(bare) == []
    assert controller_of(bare) is None
    assert controller_uid_of(bare) is None


def test_metadata_that_is_there_is_read() -> None:
    obj: Json = {
        "metadata": {
            "uid": "u-2",
            "labels": {"app": "web"},
            "annotations": {"a": "b"},
            "resourceVersion": "7",
            "generation": 3,
            "deletionTimestamp": "2026-01-01T00:00:00Z",
        }
    }

    assert uid_of(obj) == "u-2"
    assert labels_of(obj) == {"app": "web"}
    assert annotations_of(obj) == {"a": "b"}
    assert resource_version_of(obj) == "7"
    assert generation_of(obj) == 3
    assert is_deleting(obj)


def test_null_labels_and_owners_read_as_none() -> None:
    obj: Json = {"metadata": {"labels": None, "annotations": None, "ownerReferences": None}}

    assert labels_of(obj) == {}
    assert annotations_of(obj) == {}
    assert owner_references_of(obj) == []
    assert controller_of(obj) is None


def test_only_the_owner_marked_as_controller_is_the_controller() -> None:
    controller = {**OWNER, "controller": True, "blockOwnerDeletion": True, "uid": "u-2"}
    obj: Json = {"metadata": {"ownerReferences": [{**OWNER, "controller": False}, controller]}}

    found = controller_of(obj)

    assert found == OwnerReference(
        "apps/v1", "ReplicaSet", "web", Uid("u-2"), controller=True, block_owner_deletion=True
    )
    assert controller_uid_of(obj) == "u-2"
    assert [owner.controller for owner in owner_references_of(obj)] == [False, True]
