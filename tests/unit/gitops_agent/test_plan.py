"""The rules of a sync: what is deleted, when it is done, in which order, and when to give in."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_agent.diff.compare import ObjectDiff
from gitops_agent.errors import InvalidSpec
from gitops_agent.names import OBJECT_OPTIONS_ANNOTATION, SYNC_ANNOTATION
from gitops_agent.objects import GroupKind, Manifest, ObjectId, Redactor
from gitops_agent.resources import (
    Application,
    Automated,
    InventoryEntry,
    Operation,
    Retry,
    SyncRequest,
    parse_spec,
)
from gitops_agent.sync.convergence import Convergence
from gitops_agent.sync.decision import SyncQuestion, decide
from gitops_agent.sync.order import in_waves
from gitops_agent.sync.owners import Owner, mark, owner_of
from gitops_agent.sync.preflight import pod_of
from gitops_agent.sync.prune import PruneQuestion, plan_prune
from kube_runtime.resource import Json, Key

# A loaded machine is no failure, and all unit tests together take seconds.
BRIEF = settings(max_examples=40, deadline=None)


NOW = datetime(2026, 1, 1, tzinfo=UTC)
US, THEM = "uid-of-us", "uid-of-them"
APP = Key("ns", "app")


def _id(name: str, kind: str = "ConfigMap") -> ObjectId:
    return ObjectId(GroupKind("", kind), "ns", name)


def _live(name: str, *, uid: str = "u", owner: str = US, kind: str = "ConfigMap") -> Json:
    body = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "ns", "uid": uid},
    }
    return mark(body, APP, owner)


def _question(*names: str, **changes: object) -> PruneQuestion:
    question = PruneQuestion(
        inventory=tuple(InventoryEntry(_id(name), "v1", "u") for name in names),
        desired=frozenset({_id("stays")}),
        live={_id(name): _live(name) for name in names},
        application_uid=US,
        living={US, THEM},
        is_same_cluster=True,
        allows_empty=False,
        is_confirmed=False,
    )
    return replace(question, **changes)  # type: ignore[arg-type]


def test_what_left_git_and_is_proven_ours_goes() -> None:
    plan = plan_prune(_question("stays", "goes"))

    assert [entry.id for entry in plan.delete] == [_id("goes")]
    assert plan.held == ()
    assert len(plan.entries) == 2


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"is_same_cluster": False}, id="another cluster"),
        pytest.param({"desired": frozenset()}, id="an empty render"),
        pytest.param({"live": {_id("stays"): _live("stays")}}, id="not looked for"),
    ],
)
def test_without_proof_nothing_goes_and_it_is_reported(changes: dict[str, object]) -> None:
    plan = plan_prune(_question("stays", "goes", **changes))

    assert plan.delete == ()
    assert _id("goes") in dict(plan.held)
    assert _id("goes") in {entry.id for entry in plan.entries}


@pytest.mark.parametrize(
    "live",
    [
        pytest.param(_live("goes", uid="another"), id="recreated by somebody"),
        pytest.param(_live("goes", owner=THEM), id="taken over"),
    ],
)
def test_what_is_no_longer_ours_leaves_the_inventory_and_stays(live: Json) -> None:
    plan = plan_prune(
        _question("stays", "goes", live={_id("stays"): _live("stays"), _id("goes"): live})
    )

    assert plan.delete == ()
    assert plan.held == ()
    assert [entry.id for entry in plan.entries] == [_id("stays")]


def test_an_entry_is_retired_only_when_its_object_is_seen_to_be_gone() -> None:
    plan = plan_prune(
        _question("stays", "gone", live={_id("stays"): _live("stays"), _id("gone"): None})
    )

    assert [entry.id for entry in plan.entries] == [_id("stays")]


def test_an_entry_from_before_a_crash_learns_its_uid() -> None:
    inventory = (InventoryEntry(_id("new"), "v1"),)

    plan = plan_prune(_question("new", inventory=inventory))

    assert [entry.uid for entry in plan.entries] == ["u"]


def test_kinds_that_take_data_with_them_wait_for_a_person() -> None:
    claim = _id("data", "PersistentVolumeClaim")
    question = _question(
        "stays",
        inventory=(InventoryEntry(claim, "v1", "u"),),
        live={claim: _live("data", kind="PersistentVolumeClaim")},
    )

    assert plan_prune(question).delete == ()
    assert plan_prune(replace(question, is_confirmed=True)).delete != ()


@pytest.mark.parametrize("options", ["Prune=false", "Replace=true, Prune=false", " Prune=false "])
def test_what_is_annotated_to_stay_stays_whatever_the_blanks(options: str) -> None:
    kept = _live("kept")
    kept["metadata"]["annotations"][OBJECT_OPTIONS_ANNOTATION] = options

    plan = plan_prune(_question("stays", "kept", live={_id("kept"): kept}, is_confirmed=True))

    assert plan.delete == ()


@BRIEF
@given(st.integers(1, 60), st.booleans())
def test_never_more_than_the_budget_goes_unless_confirmed(count: int, confirmed: bool) -> None:  # noqa: FBT001
    names = [f"c{number}" for number in range(count)]

    plan = plan_prune(_question(*names, is_confirmed=confirmed))

    assert len(plan.delete) in (0, count)
    assert confirmed or len(plan.delete) <= max(10, count // 4)
    assert len(plan.delete) + len(plan.held) == count


@BRIEF
@given(
    st.lists(st.sampled_from("abcdef"), unique=True),
    st.sets(st.sampled_from("abcdef")),
    st.dictionaries(st.sampled_from("abcdef"), st.sampled_from(["u", "v", None])),
    st.booleans(),
)
def test_only_ours_by_uid_and_never_what_is_desired_is_deleted(
    inventory: list[str],
    desired: set[str],
    uids: dict[str, str | None],
    confirmed: bool,  # noqa: FBT001
) -> None:
    live = {_id(n): None if uid is None else _live(n, uid=uid) for n, uid in uids.items()}

    plan = plan_prune(
        _question(
            *inventory,
            desired=frozenset(map(_id, desired)),
            live=live,
            is_confirmed=confirmed,
        )
    )

    for entry in plan.delete:
        assert entry.id.name not in desired
        assert entry.id.name in inventory
        assert uids[entry.id.name] == entry.uid
    assert bool(desired) or not plan.delete


def test_a_mark_that_was_copied_to_another_object_is_nobodys() -> None:
    copied = _live("original")
    copied["metadata"]["name"] = "copy"

    assert owner_of(copied, US, {US}) is Owner.NOBODY
    assert owner_of(_live("original"), US, {US}) is Owner.US
    assert owner_of(_live("x", owner=THEM), US, {US, THEM}) is Owner.ANOTHER
    assert owner_of(_live("x", owner=THEM), US, {US}) is Owner.NOBODY


def _sync(**changes: object) -> SyncQuestion:
    question = SyncQuestion(
        request=None,
        automated=Automated(prune=True, self_heal=True),
        retry=Retry(),
        operation=Operation(phase="Succeeded", attempt="a"),
        attempt="a",
        is_different=True,
        is_healable=True,
        would_prune=False,
        now=NOW,
    )
    return replace(question, **changes)  # type: ignore[arg-type]


def test_the_cause_of_a_sync_follows_from_what_is_there() -> None:
    assert decide(_sync()).cause == "drift"
    assert decide(_sync(attempt="b")).cause == "commit"
    assert decide(_sync(is_different=False)).cause is None
    assert decide(_sync(automated=None)).cause is None
    assert decide(_sync(automated=None, request=SyncRequest("r"))).cause == "request"
    assert decide(_sync(operation=Operation(phase="Running", attempt="a"))).cause == "retry"
    assert decide(_sync(is_healable=False)).cause is None


def test_without_self_heal_only_a_commit_is_synced() -> None:
    manual = Automated()

    assert decide(_sync(automated=manual)).cause is None
    assert decide(_sync(automated=manual, attempt="b")).cause == "commit"


def test_what_is_only_to_be_pruned_is_work_where_prune_is_on() -> None:
    assert decide(_sync(is_different=False, would_prune=True)).cause == "drift"
    off = Automated(self_heal=True)
    assert decide(_sync(automated=off, is_different=False, would_prune=True)).cause is None


def _failed(count: int, seconds_ago: float) -> Operation:
    finished = NOW - timedelta(seconds=seconds_ago)
    return Operation(phase="Failed", attempt="a", retry_count=count, finished_at=finished)


def test_a_failed_attempt_is_tried_again_with_growing_pauses() -> None:
    assert decide(_sync(operation=_failed(0, 2))).look_again_after == pytest.approx(3)
    assert decide(_sync(operation=_failed(0, 5))).cause == "retry"
    assert decide(_sync(operation=_failed(2, 0))).look_again_after == pytest.approx(20)
    assert decide(_sync(operation=_failed(50, 0))).look_again_after == pytest.approx(180)


def test_a_limit_ends_the_retries_until_something_new_comes() -> None:
    question = _sync(operation=_failed(3, 999), retry=Retry(limit=3))

    assert decide(question).cause is None
    assert decide(replace(question, attempt="b")).cause == "commit"
    assert decide(replace(question, request=SyncRequest("r"))).cause == "request"


def _diff(text: str = "x") -> ObjectDiff:
    return ObjectDiff(_id("a"), "change", text, (".a",))


def test_a_fight_is_noticed_named_and_fought_ever_more_seldom() -> None:
    memory = Convergence()
    for second in range(5):
        assert memory.pause_seconds(_diff(), second) == 0
        memory.healed([(_diff(), ["hpa"])], second)

    (fight,) = memory.fights(5).values()
    assert fight.writers == {"hpa"}
    assert memory.pause_seconds(_diff(), 5) == pytest.approx(59)
    memory.healed([(_diff(), [])], 65)
    assert memory.pause_seconds(_diff(), 65) == pytest.approx(120)
    assert memory.pause_seconds(_diff("another"), 65) == 0


def test_slow_drift_is_no_fight() -> None:
    memory = Convergence()
    for round_ in range(20):
        memory.healed([(_diff(), [])], round_ * 1000.0)

    assert memory.fights(20_000) == {}


def test_foundations_come_first_and_webhooks_last() -> None:
    kinds = ["Rollout", "ValidatingWebhookConfiguration", "ConfigMap", "Namespace", "Service"]
    manifests = [
        Manifest.of(
            {"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}},
            source="f",
            redactor=Redactor(),
        )
        for kind in kinds
    ]

    found = [manifest.id.group_kind.kind for wave in in_waves(manifests) for manifest in wave]

    assert found == [
        "Namespace",
        "ConfigMap",
        "Service",
        "Rollout",
        "ValidatingWebhookConfiguration",
    ]


def test_the_pod_of_a_long_name_with_dots_has_a_name_that_is_valid() -> None:
    template: Json = {"spec": {"template": {"spec": {"containers": []}}}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a" * 39 + ".b"}}

    pod = pod_of(body | template)

    assert pod is not None
    assert pod["metadata"]["name"].startswith("a" * 39 + "-preflight-")


def test_a_pod_is_made_of_every_template_and_of_nothing_else() -> None:
    spec = {"containers": [{"name": "a", "image": "b"}]}
    template = {"metadata": {"labels": {"a": "b"}, "name": "ignored"}, "spec": spec}
    job = {"jobTemplate": {"spec": {"template": template}}}
    bodies: list[Json] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": template}},
        {"apiVersion": "batch/v1", "kind": "CronJob", "spec": job},
        {"apiVersion": "levelset.dev/v1alpha1", "kind": "Rollout", "spec": {"template": template}},
    ]

    for body in bodies:
        pod = pod_of(body | {"metadata": {"name": "web"}})
        assert pod is not None
        assert pod["spec"] == spec
        assert pod["metadata"]["labels"] == {"a": "b"}
        assert pod["metadata"]["name"].startswith("web-preflight-")
    assert pod_of({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}) is None
    assert (
        pod_of({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}) is None
    )


def _application(annotation: str, operation: Json | None = None) -> Application:
    return Application.of(
        {
            "metadata": {
                "name": "a",
                "namespace": "n",
                "uid": "u",
                "annotations": {SYNC_ANNOTATION: annotation},
            },
            "spec": {},
            "status": {"operationState": operation or {}},
        }
    )


def test_a_request_is_answered_once() -> None:
    request = SyncRequest("r1", revision="main", prune=True)
    text = '{"id": "r1", "revision": "main", "prune": true}'

    assert _application(text).request() == request
    assert _application(text, {"id": "r1", "phase": "Running"}).request() == request
    assert _application(text, {"id": "r1", "phase": "Failed"}).request() is None
    assert _application("plain").request() == SyncRequest("plain")
    assert _application("").request() is None


@pytest.mark.parametrize("bad", ["a b", "{", "{}", '{"id": 5}', "[]", "x" * 64])
def test_a_request_that_cannot_be_read_is_refused(bad: str) -> None:
    with pytest.raises(InvalidSpec, match=r"levelset\.dev/sync"):
        _application(bad).request()


def test_a_spec_is_read_with_its_defaults() -> None:
    spec = parse_spec(
        {
            "source": {"repoURL": "https://h/x"},
            "destination": {"namespace": "n"},
            "syncPolicy": {
                "automated": {"enabled": False},
                "retry": {"backoff": {"maxDuration": "1m30s"}},
                "syncOptions": ["Prune=false", "CreateNamespace=true"],
            },
        }
    )

    assert (spec.source.target_revision, spec.source.path) == ("HEAD", ".")
    assert spec.automated is None
    assert spec.retry.max_seconds == 90
    assert (spec.may_prune, spec.creates_namespace) == (False, True)
