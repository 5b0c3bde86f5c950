"""A store finds objects by key and by what its indexers say."""

from kube_runtime.resource import Json, Key
from kube_runtime.store import Store, by_label, by_node, by_owner_uid, orphans_by_namespace


def pod(name: str, *, owner: str | None = None, node: str | None = None, **labels: str) -> Json:
    metadata: Json = {"name": name, "namespace": "shop", "labels": labels}
    if owner:
        metadata["ownerReferences"] = [
            {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "other"},
            {"apiVersion": "v1", "kind": "X", "name": "x", "uid": owner, "controller": True},
        ]
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}}


def store_of(*objects: Json) -> Store:
    store = Store(
        {
            "owner": by_owner_uid,
            "orphans": orphans_by_namespace,
            "node": by_node,
            "app": by_label("app"),
        }
    )
    for obj in objects:
        store.upsert(Key.of(obj), obj)
    return store


def test_what_was_put_in_is_found_by_key() -> None:
    web = pod("web")
    store = store_of(web)

    assert store.get(Key("shop", "web")) is web
    assert store.get(Key("shop", "other")) is None
    assert Key("shop", "web") in store
    assert len(store) == 1
    assert list(store.keys()) == [Key("shop", "web")]


def test_a_namespace_is_listed_alone() -> None:
    here, there = pod("web"), {"metadata": {"name": "web", "namespace": "else"}}
    store = store_of(here, there)

    assert store.list("shop") == [here]
    assert store.list() == [here, there]
    assert store.list("nowhere") == []


def test_an_owned_pod_is_found_by_its_controller_and_an_orphan_by_its_namespace() -> None:
    owned, orphan = pod("owned", owner="u-1"), pod("orphan")
    store = store_of(owned, orphan)

    assert store.by_index("owner", "u-1") == [owned]
    assert store.by_index("owner", "other") == []
    assert store.by_index("orphans", "shop") == [orphan]


def test_a_pod_is_found_by_node_and_label_once_it_has_them() -> None:
    placed, waiting = pod("placed", node="one", app="web"), pod("waiting")
    store = store_of(placed, waiting, {"metadata": {"name": "bare"}})

    assert store.by_index("node", "one") == [placed]
    assert store.by_index("app", "web") == [placed]


def test_an_object_moves_between_buckets_when_it_changes() -> None:
    store = store_of(pod("web", owner="u-1", app="old"))
    changed = pod("web", app="new")

    replaced = store.upsert(Key("shop", "web"), changed)

    assert replaced == pod("web", owner="u-1", app="old")
    assert store.by_index("owner", "u-1") == []
    assert store.by_index("app", "old") == []
    assert store.by_index("app", "new") == [changed]
    assert store.by_index("orphans", "shop") == [changed]


def test_a_deleted_object_is_nowhere() -> None:
    web = pod("web", owner="u-1", node="one", app="web")
    store = store_of(web)

    assert store.delete(Key("shop", "web")) is web

    assert store.delete(Key("shop", "web")) is None
    assert store.by_index("owner", "u-1") == []
    assert len(store) == 0


def test_an_object_changed_against_the_rules_still_leaves_its_buckets() -> None:
    web = pod("web", app="web")
    store = store_of(web)
    web["metadata"]["labels"]["app"] = "meddled"

    store.delete(Key("shop", "web"))

    assert store.by_index("app", "web") == []


def test_a_store_without_indexers_is_just_a_map() -> None:
    store = Store()
    store.upsert(Key("", "a"), {"metadata": {"name": "a"}})

    assert store.list() == [{"metadata": {"name": "a"}}]
