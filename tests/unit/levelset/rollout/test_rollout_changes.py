"""What the verbs write, and what they refuse."""

from datetime import UTC, datetime
from typing import Any

import pytest

from kube_runtime.resource import Json, Uid
from levelset.rollout import changes, history
from levelset.rollout.configs import Live
from levelset.rollout.errors import NoSuchRevision, Refused
from levelset.rollout.snapshot import snapshot_of
from workloads.rollout.config.record import Version, copy_name
from workloads.rollout.config.references import Source

NOW = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
HELD = {"revision": 3, "podSet": "web-c", "reason": "CrashLoop", "message": "exit code 1"}


def template(image: str, **labels: str) -> Json:
    return {
        "metadata": {"labels": {"app": "web", **labels}},
        "spec": {"containers": [{"name": "web", "image": image}]},
    }


def rollout(image: str = "web:3", *, annotations: Json | None = None, **more: Any) -> Json:
    status = more.pop("status", {})
    return {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "resourceVersion": "7",
            "generation": 1,
            "annotations": annotations or {},
        },
        "spec": {"template": template(image)} | more,
        "status": {"observedGeneration": 1, "updatedPodSet": "web-c"} | status,
    }


def podset(name: str, revision: int | str, image: str, cause: str = "", **more: str) -> Json:
    annotations = {"levelset.dev/revision": str(revision)} | more
    if cause:
        annotations[history.CHANGE_CAUSE] = cause
    return {
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations},
        "spec": {
            "template": template(image, **{"pod-template-hash": name}),
            "selector": {"matchLabels": {"app": "web"}},
        },
    }


PODSETS = [
    podset("web-c", 3, "web:3", "third"),
    podset("web-a", 1, "web:1", "first"),
    podset("web-b", 2, "web:2"),
]


def written(change: changes.Change) -> dict[str, Any]:
    """Return the values by path; the version that the patch was planned on is always among them."""
    assert change.patch[0] == {
        "op": "replace",
        "path": "/metadata/resourceVersion",
        "value": "7",
    }
    return {operation["path"]: operation["value"] for operation in change.patch[1:]}


def undo(
    raw: Json, podsets: list[Json], *, to_revision: int = 0, live: Live | None = None
) -> changes.Change:
    wanted = changes.revision_to_undo_to(snapshot_of(raw), podsets, to_revision=to_revision)
    return changes.undo(raw, podsets, wanted, live=live or {})


def test_undo_writes_the_template_before_back_without_the_hash() -> None:
    change = undo(rollout(), PODSETS)

    assert change.said == "rolled back"
    assert written(change) == {"/spec/template": template("web:2")}


def test_undo_goes_to_any_revision_and_takes_its_change_cause_along() -> None:
    mine = {history.CHANGE_CAUSE: "third", "team": "shop"}

    change = undo(rollout(annotations=mine), PODSETS, to_revision=1)

    assert written(change) == {
        "/spec/template": template("web:1"),
        "/metadata/annotations": {"team": "shop", history.CHANGE_CAUSE: "first"},
    }


def test_undo_to_the_present_template_does_nothing() -> None:
    change = undo(rollout(), PODSETS, to_revision=3)

    assert change.said == "skipped rollback (current template already matches revision 3)"
    assert change.patch == []


def test_undo_of_a_held_revision_goes_to_the_known_good_one() -> None:
    status = {"held": HELD, "knownGood": {"revision": 1}}

    change = undo(rollout(status=status), PODSETS)

    assert written(change)["/spec/template"] == template("web:1")


def test_undo_to_the_held_revision_says_that_it_is_held() -> None:
    change = undo(rollout(status={"held": HELD}), PODSETS, to_revision=3)

    assert change.patch == []
    assert "revision 3 is held since it failed (CrashLoop: exit code 1)" in change.note
    assert "rollout retry rollout/web" in change.note


@pytest.mark.parametrize(
    ("podsets", "to_revision", "said"),
    [
        (PODSETS, 9, "unable to find the specified revision 9; there are: 1, 2, 3"),
        (PODSETS[:1], 0, 'no rollout history found for rollout "web"'),
        ([], 4, "there are: none"),
        ([podset("web-x", "x", "web:9"), *PODSETS[:1]], 0, "no rollout history found"),
    ],
)
def test_undo_to_what_is_not_there_is_refused(
    podsets: list[Json], to_revision: int, said: str
) -> None:
    with pytest.raises(NoSuchRevision) as caught:
        undo(rollout(), podsets, to_revision=to_revision)

    assert said in str(caught.value)


def test_a_paused_rollout_is_neither_rolled_back_nor_restarted() -> None:
    paused = rollout(paused=True)

    with pytest.raises(Refused, match="you cannot rollback a paused rollout; resume it first"):
        undo(paused, PODSETS)
    with pytest.raises(Refused, match="can't restart paused rollout"):
        changes.restart(paused, now=NOW)


CONFIGURED = {"levelset.dev/config": '{"ConfigMap/settings":"settings-old","Secret/key":"key-1"}'}
CONFIGURED_NOW = {
    "levelset.dev/config": '{"ConfigMap/settings":"settings-new","Secret/key":"key-1"}'
}


def with_config(raw: Json, settings: str, key: str) -> Json:
    raw["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [
        {"configMapRef": {"name": settings}},
        {"secretRef": {"name": key}},
    ]
    return raw


def test_undo_names_copies_only_of_the_configuration_that_has_changed_since() -> None:
    before = with_config(podset("web-b", 2, "web:2", **CONFIGURED), "settings-old", "key-1")
    present = with_config(podset("web-c", 3, "web:3", **CONFIGURED_NOW), "settings-new", "key-1")

    change = undo(rollout(), [before, present])

    spec = written(change)["/spec/template"]["spec"]
    assert spec["containers"][0]["envFrom"] == [
        {"configMapRef": {"name": "settings-old"}},
        {"secretRef": {"name": "key"}},
    ]
    assert "copies of ConfigMap/settings as of revision 2" in change.note


def test_undo_of_a_change_of_configuration_alone_is_no_skipped_one() -> None:
    before = with_config(podset("web-b", 2, "web:3", **CONFIGURED), "settings-old", "key-1")
    present = with_config(podset("web-c", 3, "web:3", **CONFIGURED_NOW), "settings-new", "key-1")
    raw = with_config(rollout(), "settings", "key")

    assert undo(raw, [before, present]).said == "rolled back"
    assert "skipped" in undo(raw, [before, present], to_revision=3).said


SETTINGS = Source("ConfigMap", "settings")


@pytest.mark.parametrize(
    ("version", "named"), [("1", "settings"), ("2", "the copy"), (None, "the copy")]
)
def test_where_the_present_revision_does_not_tell_what_is_there_does(
    version: str | None, named: str
) -> None:
    raw = rollout()
    raw["metadata"]["uid"] = "rollout"
    copy = copy_name(Uid("rollout"), SETTINGS, Version("source", "1"))
    record = f'{{"ConfigMap/settings":"{copy}"}}'
    before = podset("web-b", 2, "web:2", **{"levelset.dev/config": record})
    present = with_config(podset("web-c", 3, "web:3"), "pinned-before", "key")
    live = {SETTINGS: Version("source", version)} if version else {}

    change = undo(raw, [with_config(before, copy, "key"), present], live=live)

    spec = written(change)["/spec/template"]["spec"]
    assert spec["containers"][0]["envFrom"][0] == {
        "configMapRef": {"name": copy if named == "the copy" else named}
    }


def test_pause_and_resume_switch_the_spec() -> None:
    assert written(changes.pause(rollout())) == {"/spec/paused": True}
    assert written(changes.resume(rollout(paused=True))) == {"/spec/paused": False}


def test_what_is_so_already_is_refused() -> None:
    with pytest.raises(Refused, match='"web" is already paused'):
        changes.pause(rollout(paused=True))
    with pytest.raises(Refused, match='"web" is not paused'):
        changes.resume(rollout())
    with pytest.raises(Refused, match="has no held revision"):
        changes.retry(rollout(), now=NOW)


def test_resume_ends_a_pause_step() -> None:
    step = {"podSet": "web-c", "index": 1, "type": "Pause", "state": "Paused"}

    change = changes.resume(rollout(annotations={"a": "b"}, status={"step": step}))

    assert written(change) == {
        "/metadata/annotations": {"a": "b", "levelset.dev/resume-step": "web-c/1"}
    }


def test_resume_of_a_step_that_was_resumed_in_an_earlier_try_says_something_new() -> None:
    step = {"podSet": "web-c", "index": 1, "type": "Pause", "state": "Paused"}
    said = {"levelset.dev/resume-step": "web-c/1"}

    change = changes.resume(rollout(annotations=said, status={"step": step}))

    assert written(change) == {
        "/metadata/annotations": {"levelset.dev/resume-step": "web-c/1/again"}
    }


def test_resume_of_a_paused_rollout_leaves_its_pause_step_waiting() -> None:
    step = {"podSet": "web-c", "index": 1, "type": "Pause", "state": "Paused"}

    change = changes.resume(rollout(paused=True, status={"step": step}))

    assert written(change) == {"/spec/paused": False}
    assert "resume once more" in change.note


def test_resume_does_not_skip_a_gate() -> None:
    step = {"podSet": "web-c", "index": 1, "type": "Gate", "state": "Measuring"}

    with pytest.raises(Refused, match="is not paused"):
        changes.resume(rollout(status={"step": step}))


def test_restart_stamps_the_template_and_keeps_its_annotations() -> None:
    raw = rollout()
    raw["spec"]["template"]["metadata"]["annotations"] = {"a": "b"}

    change = changes.restart(raw, now=NOW)

    stamped = {"a": "b", changes.RESTARTED_AT: "2026-11-30T12:00:00Z"}
    assert written(change) == {"/spec/template/metadata/annotations": stamped}
    raw["spec"]["template"]["metadata"]["annotations"] = stamped
    with pytest.raises(Refused, match="within the past second"):
        changes.restart(raw, now=NOW)


def test_retry_releases_the_held_revision() -> None:
    change = changes.retry(rollout(status={"held": HELD}), now=NOW)

    assert written(change) == {
        "/metadata/annotations": {"levelset.dev/retry": "2026-11-30T12:00:00Z"}
    }
    assert change.note == "releases revision 3"


def test_the_history_is_a_table_in_order_with_its_marks() -> None:
    seen = snapshot_of(rollout(status={"held": HELD, "knownGood": {"revision": 2}}))

    assert history.table(seen, history.revisions(PODSETS)).splitlines() == [
        "rollout.levelset.dev/web",
        "REVISION  CHANGE-CAUSE",
        "1         first",
        "2         <none>",
        "3         third",
        "",
        "known good: revision 2",
        "held: revision 3 (CrashLoop: exit code 1)",
    ]


def test_a_revision_is_shown_with_its_whole_template() -> None:
    seen = snapshot_of(rollout())
    there = history.revisions(PODSETS)

    text = history.detail(seen, history.find(there, 1))

    assert text.startswith("rollout.levelset.dev/web with revision #1\nPod Template:\n")
    assert "image: web:1" in text
    assert "kubernetes.io/change-cause: first" in text
    assert "pod-template-hash" not in text
