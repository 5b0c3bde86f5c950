"""When a revision is held, what releases it, and what is taken for the good one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kube_runtime.conditions import Condition, find_condition, is_true
from kube_runtime.errors import ApiError, Forbidden, Invalid, ServerError
from kube_runtime.resource import Json, Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads import templates
from workloads.blocked_by import BlockedBy
from workloads.podset.resources import PodSet, PodSetStatus
from workloads.rollout.fleet import Fleet, recognise, sort_fleet
from workloads.rollout.plan import plan_rollout, questions
from workloads.rollout.policies import RollbackMode, RollbackPolicy
from workloads.rollout.resources import Rollout, RolloutStatus
from workloads.rollout.standing import Held, KnownGood
from workloads.rollout.template_verdict import TemplateVerdict, verdict_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = {"matchLabels": {"app": "web"}}
LATE = Condition("Progressing", "False", "ProgressDeadlineExceeded", "no progress")
CRASHES = BlockedBy("CrashLoop", "exit code 1", since=NOW)


def template(version: int) -> Json:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": f"web:{version}"}]},
    }


def podset(version: int, count: int, *, available: int = 0, **status: Any) -> PodSet:
    counts = PodSetStatus(
        replicas=count, available_replicas=available, observed_generation=1, **status
    )
    return PodSet(
        key=Key("default", f"web-{version}"),
        uid=Uid(f"u{version}"),
        replicas=count,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template=template(version),
        created=NOW + timedelta(seconds=version),
        annotations={
            "levelset.dev/revision": str(version),
            "levelset.dev/desired-replicas": "4",
            "levelset.dev/max-replicas": "5",
        },
        status=counts,
    )


def rollout(**more: Any) -> Rollout:
    base: dict[str, Any] = {
        "status": RolloutStatus(known_good=KnownGood("web-1", 1), updated_podset="web-2")
    }
    return Rollout(
        key=Key("default", "web"),
        uid=Uid("owner"),
        replicas=4,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template=template(2),
        **(base | more),
    )


def fleet(**status: Any) -> Fleet:
    return Fleet(podset(2, 2, **status), (podset(1, 3, available=3),))


def held_status(**more: Any) -> RolloutStatus:
    base: dict[str, Any] = {"template_hash": templates.hash_of(template(2), 0)}
    held = Held("web-2", 2, reason="CrashLoop", message="why", since=NOW, **(base | more))
    return RolloutStatus(known_good=KnownGood("web-1", 1), updated_podset="web-1", held=held)


@pytest.mark.parametrize(
    ("policy", "status", "seconds", "reason"),
    [
        (RollbackPolicy(max_restarts=3), {"restarts": 3}, 0, None),
        (RollbackPolicy(max_restarts=3), {"restarts": 4}, 0, "TooManyRestarts"),
        (RollbackPolicy(), {"restarts": 99}, 0, None),
        (RollbackPolicy(max_failed_pods=1), {"failed_replicas": 2}, 0, "TooManyFailedPods"),
        (RollbackPolicy(), {"blocked_by": CRASHES}, 59, None),
        (RollbackPolicy(), {"blocked_by": CRASHES}, 60, "CrashLoop"),
        (RollbackPolicy(crash_loop_seconds=0), {"blocked_by": CRASHES}, 0, "CrashLoop"),
    ],
)
def test_a_revision_fails_by_what_its_pods_do(
    policy: RollbackPolicy, status: dict[str, Any], seconds: int, reason: str | None
) -> None:
    now = NOW + timedelta(seconds=seconds)

    plan = plan_rollout(rollout(rollback=policy), fleet(**status), now=now)

    assert (plan.status.held and plan.status.held.reason) == reason


def test_a_deadline_counts_for_the_revision_that_it_was_told_of() -> None:
    late = RolloutStatus(
        known_good=KnownGood("web-1", 1), updated_podset="web-2", conditions=(LATE,)
    )
    of_another = replace(late, updated_podset="web-9")

    held = plan_rollout(rollout(status=late), fleet(), now=NOW).status.held
    none = plan_rollout(rollout(status=of_another), fleet(), now=NOW).status.held

    assert held is not None
    assert (held.podset, held.revision, held.message) == ("web-2", 2, "no progress")
    assert none is None


@pytest.mark.parametrize(
    "more",
    [
        {"rollback": RollbackPolicy(mode=RollbackMode.MANUAL, max_restarts=0)},
        {"rollback": RollbackPolicy(max_restarts=0), "is_paused": True},
        {"rollback": RollbackPolicy(max_restarts=0), "is_deleting": True},
        {"rollback": RollbackPolicy(max_restarts=0), "status": RolloutStatus()},
        {
            "rollback": RollbackPolicy(max_restarts=0),
            "status": RolloutStatus(known_good=KnownGood("gone", 1)),
        },
    ],
)
def test_nothing_is_held_by_hand_at_rest_or_without_a_way_back(more: dict[str, Any]) -> None:
    plan = plan_rollout(rollout(**more), fleet(restarts=9), now=NOW)

    assert plan.status.held is None


def test_by_hand_a_failure_is_told_and_passes() -> None:
    policy = RollbackPolicy(mode=RollbackMode.MANUAL, max_restarts=3)
    obj = rollout(rollback=policy)

    failed = plan_rollout(obj, fleet(restarts=9), now=NOW).status
    after = plan_rollout(replace(obj, status=failed), fleet(restarts=0), now=NOW).status

    progressing = find_condition(failed.conditions, "Progressing")
    assert progressing is not None
    assert (progressing.status, progressing.reason) == ("False", "TooManyRestarts")
    assert is_true(failed.conditions, "Stalled")
    assert not is_true(after.conditions, "Stalled")


def test_while_a_revision_is_held_the_good_one_grows_and_keeps_its_number() -> None:
    obj = rollout(status=held_status(), annotations={"kubernetes.io/change-cause": "bad"})

    plan = plan_rollout(obj, fleet(), now=NOW)

    assert {change.after.key.name: change.after.replicas for change in plan.changes} == {"web-2": 0}
    good = plan_rollout(obj, Fleet(podset(2, 0), (podset(1, 3, available=3),)), now=NOW)
    (change,) = good.changes
    assert (change.after.key.name, change.after.replicas) == ("web-1", 4)
    assert change.after.annotations["levelset.dev/revision"] == "1"
    assert "kubernetes.io/change-cause" not in change.after.annotations


@pytest.mark.parametrize(
    "more",
    [
        {"template": template(3)},
        {"annotations": {"levelset.dev/retry": "2"}},
        {"rollback": RollbackPolicy(mode=RollbackMode.MANUAL)},
        {"template": template(1)},
    ],
)
def test_a_held_revision_is_released(more: dict[str, Any]) -> None:
    obj = replace(rollout(status=held_status(retry="1")), **more)

    plan = plan_rollout(obj, sort_fleet(obj, fleet().all), now=NOW)

    assert plan.status.held is None


@pytest.mark.parametrize(
    "more", [{"replicas": 7}, {"annotations": {"levelset.dev/retry": "1"}}, {"annotations": {}}]
)
def test_nothing_else_releases_it(more: dict[str, Any]) -> None:
    obj = replace(rollout(status=held_status(retry="1")), **more)

    plan = plan_rollout(obj, sort_fleet(obj, fleet().all), now=NOW)

    assert plan.status.held is not None


def test_a_held_revision_whose_podset_is_gone_stays_held() -> None:
    obj = rollout(status=held_status())

    plan = plan_rollout(obj, Fleet(None, (podset(1, 4, available=4),)), now=NOW)

    assert plan.create is None
    assert plan.status.held is not None
    assert is_true(plan.status.conditions, "RolledBack")
    assert not is_true(plan.status.conditions, "Ready")


@pytest.mark.parametrize(
    ("pods", "size", "expected"),
    [
        (podset(2, 4, available=4), 4, KnownGood("web-2", 2)),
        (podset(2, 4, available=3), 4, None),
        (podset(2, 4, available=4, blocked_by=CRASHES), 4, None),
        (podset(2, 0), 0, None),
        (replace(podset(2, 4, available=4), generation=2), 4, None),
    ],
)
def test_a_revision_is_good_once_it_is_complete_and_healthy(
    pods: PodSet, size: int, expected: KnownGood | None
) -> None:
    obj = replace(rollout(status=RolloutStatus()), replicas=size)

    assert plan_rollout(obj, Fleet(pods), now=NOW).status.known_good == expected


def test_a_template_is_tried_when_its_pods_are_still_to_come() -> None:
    obj = rollout()

    assert questions(obj, Fleet(None, fleet().old), now=NOW).is_template_new
    assert questions(obj, Fleet(podset(2, 0), fleet().old), now=NOW).is_template_new
    assert not questions(obj, fleet(), now=NOW).is_template_new
    assert not questions(replace(obj, is_paused=True), Fleet(None), now=NOW).is_template_new
    held = rollout(status=held_status())
    assert not questions(held, Fleet(None, fleet().old), now=NOW).is_template_new


def test_while_a_template_is_refused_nothing_begins_and_scaling_goes_on() -> None:
    refused = TemplateVerdict("False", "TemplateInvalid", "no such port", retry_after=5)
    pods = Fleet(None, (podset(1, 4, available=4),))
    obj = rollout(status=RolloutStatus(known_good=KnownGood("web-1", 1)))

    plan = plan_rollout(obj, pods, now=NOW, verdict=refused)
    scaled = plan_rollout(replace(obj, replicas=6), pods, now=NOW, verdict=refused)

    assert (plan.create, plan.changes, plan.look_again_after) == (None, (), 5)
    assert plan.status.blocked_by == BlockedBy(
        "TemplateInvalid", "no such port", count=4, since=NOW
    )
    assert is_true(plan.status.conditions, "Stalled")
    assert [change.after.replicas for change in scaled.changes] == [6]
    assert scaled.create is None


def test_the_old_template_is_valid_when_the_refused_one_is_taken_back() -> None:
    refused = TemplateVerdict("False", "TemplateInvalid", "no such port", retry_after=5)
    obj = rollout(status=RolloutStatus(known_good=KnownGood("web-1", 1)))
    pods = podset(1, 4, available=4)
    status = plan_rollout(obj, Fleet(None, (pods,)), now=NOW, verdict=refused).status

    back = replace(obj, template=template(1), status=status)
    after = plan_rollout(back, Fleet(pods), now=NOW).status

    assert is_true(after.conditions, "TemplateValid")
    assert is_true(after.conditions, "Ready")
    assert not is_true(after.conditions, "Stalled")
    assert after.blocked_by is None


@pytest.mark.parametrize(
    ("error", "reason", "blocks"),
    [
        (Invalid(422, "Invalid", "bad port"), "TemplateInvalid", "TemplateInvalid"),
        (ApiError(400, "BadRequest", "strict decoding"), "TemplateInvalid", "TemplateInvalid"),
        (Forbidden(403, "Forbidden", "violates PodSecurity"), "Admission", "Admission"),
        (ApiError(400, "x", 'admission webhook "a" denied'), "Admission", "Admission"),
        (ServerError(500, "x", 'failed calling webhook "a"'), "Admission", "Admission"),
        (Forbidden(403, "Forbidden", "exceeded quota: few"), "Accepted", None),
        (ApiError(400, "x", 'webhook "a" does not support dry run'), "NotChecked", None),
    ],
)
def test_a_refusal_is_told_by_what_it_means(
    error: ApiError, reason: str, blocks: str | None
) -> None:
    verdict = verdict_of(error)

    assert verdict is not None
    assert (verdict.reason, verdict.blocks) == (reason, blocks)


def test_a_broken_server_says_nothing_of_a_template() -> None:
    assert verdict_of(ServerError(500, "InternalError", "etcd has no leader")) is None


def with_default(version: int) -> Json:
    changed = template(version)
    changed["spec"]["dnsPolicy"] = "ClusterFirst"
    return changed


def test_a_default_that_a_crd_gets_later_rolls_nothing_then_or_afterwards() -> None:
    seen = RolloutStatus(updated_podset="web-2", observed_generation=1)
    obj = replace(rollout(status=seen), template=with_default(2))
    pods = [podset(2, 4, available=4), podset(1, 0)]

    found = recognise(obj, sort_fleet(obj, pods))
    (change,) = plan_rollout(obj, found, now=NOW).changes
    later = replace(obj, generation=2, replicas=5)
    afterwards = sort_fleet(later, [change.after, podset(1, 0)])

    assert found.new is not None
    assert found.new.key.name == "web-2"
    assert plan_rollout(obj, found, now=NOW).create is None
    assert change.after.replicas == 4
    assert afterwards.new is not None
    assert afterwards.new.key.name == "web-2"


@pytest.mark.parametrize(
    "more",
    [
        {"generation": 2},
        {"config_hash": "other"},
        {"template": template(3)},
        {"status": RolloutStatus(observed_generation=1)},
    ],
)
def test_a_change_of_somebody_is_no_default(more: dict[str, Any]) -> None:
    seen = RolloutStatus(updated_podset="web-2", observed_generation=1)
    obj = replace(rollout(status=seen), **({"template": with_default(2)} | more))

    assert recognise(obj, sort_fleet(obj, [podset(2, 4)])).new is None
