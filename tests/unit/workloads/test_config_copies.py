"""The copies: immutable, owned by those who name them, gone with the last of them."""

from typing import Any

from kube_runtime.clock import FakeClock
from kube_runtime.resource import Json, Key, Uid
from workloads import names
from workloads.rollout.config.copies import SECRET_TYPE, copy_body, is_copy_of, plan_upkeep
from workloads.rollout.config.references import Source
from workloads.rollout.config.settling import Settling
from workloads.rollout.config.standing import Standing, standing_of, with_standing
from workloads.rollout.config.watching import Slim

ROLLOUT: Json = {"metadata": {"name": "web", "namespace": "default", "uid": "r"}}


def podset(uid: str, config: str) -> Json:
    container = {"name": "web", "envFrom": [{"configMapRef": {"name": config}}]}
    return {
        "metadata": {"name": uid, "namespace": "default", "uid": uid},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def copy_of(name: str, *owners: tuple[str, str]) -> Json:
    references = [{"kind": kind, "name": uid, "uid": uid} for kind, uid in owners]
    return {"metadata": {"name": name, "namespace": "default", "ownerReferences": references}}


def upkeep(copy: Json, *podsets: Json, **more: Any) -> tuple[list[list[str]], int]:
    facts: dict[str, Any] = {"wanted": (), "is_podset": lambda _: False} | more
    plan = plan_upkeep(ROLLOUT, podsets, [("ConfigMap", copy)], **facts)
    return [[entry["uid"] for entry in owners] for _, owners in plan.own], len(plan.delete)


def test_a_copy_has_the_data_and_nothing_that_would_mislead_other_controllers() -> None:
    live: Json = {
        "metadata": {"name": "a", "labels": {"app.kubernetes.io/instance": "x"}},
        "type": "kubernetes.io/tls",
        "data": {"tls.key": "djE="},
    }

    body = copy_body(ROLLOUT, Source("Secret", "a"), live, "a-1")

    assert body["data"] == live["data"]
    assert body["immutable"] is True
    assert body["type"] == SECRET_TYPE
    assert body["metadata"]["labels"] == {names.CONFIG_OF: "r"}
    assert is_copy_of(body, Uid("r"))
    (owner,) = body["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("Rollout", False)


def test_a_copy_goes_over_from_the_rollout_to_the_podset_that_names_it() -> None:
    assert upkeep(copy_of("a-1", ("Rollout", "r")), podset("p", "a-1")) == ([["p"]], 0)


def test_a_copy_belongs_to_every_podset_that_names_it() -> None:
    copy = copy_of("a-1", ("PodSet", "p"))

    assert upkeep(copy, podset("p", "a-1"), podset("q", "a-1")) == ([["p", "q"]], 0)


def test_a_copy_with_the_right_owners_is_left_alone() -> None:
    assert upkeep(copy_of("a-1", ("PodSet", "p")), podset("p", "a-1")) == ([], 0)


def test_a_copy_for_the_revision_to_come_is_kept() -> None:
    copy = copy_of("a-1", ("Rollout", "r"))

    assert upkeep(copy, wanted={Source("ConfigMap", "a-1")}) == ([], 0)
    assert upkeep(copy, wanted={Source("Secret", "a-1")}) == ([], 1)


def test_a_copy_that_nobody_names_goes_unless_a_podset_was_let_go_with_it() -> None:
    copy = copy_of("a-1", ("PodSet", "p"))

    assert upkeep(copy, podset("q", "other")) == ([], 1)
    assert upkeep(copy, podset("q", "other"), is_podset=lambda _: True) == ([], 0)


def test_the_store_never_holds_a_value() -> None:
    live: Json = {
        "metadata": {
            "name": "a",
            "namespace": "default",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"},
        },
        "data": {"password": "hunter2"},
    }

    assert "hunter2" not in str(Slim("Secret")(live))


def test_changes_that_come_together_are_waited_for_together() -> None:
    clock = FakeClock()
    settling = Settling(1.0, clock)
    key = Key("default", "web")

    assert settling.seconds_left(key, "one") == 1.0
    clock.shift(0.6)
    assert settling.seconds_left(key, "two") == 1.0
    clock.shift(1.0)
    assert settling.seconds_left(key, "two") == 0.0


def test_what_never_comes_to_rest_is_taken_up_all_the_same() -> None:
    clock = FakeClock()
    settling = Settling(1.0, clock)
    waited = 0.0
    while settling.seconds_left(Key("default", "web"), waited) > 0:
        clock.shift(0.5)
        waited += 0.5

    assert waited == 30.0


def test_the_condition_names_objects_and_goes_when_there_is_nothing_to_say() -> None:
    a, b = Source("ConfigMap", "a"), Source("Secret", "b")
    now = FakeClock().now()

    good, bad = standing_of({a: "a-1", b: ""}, ()), standing_of({}, [b])
    entries = with_standing((), bad, generation=1, now=now)

    assert (good.status, good.message) == ("True", "copies of ConfigMap/a")
    assert [(entry.status, entry.reason) for entry in entries] == [("False", "Missing")]
    assert "Secret/b" in entries[0].message
    assert with_standing(entries, None, generation=1, now=now) == ()
    assert "levelset-workloads-config" in Standing.unreadable("Secret", "no").message
