"""Steps of a rollout: tables, each next to the rule of the built-in controller that it keeps."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from kube_runtime.resource import Json, Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads import names
from workloads.podset.resources import PodSet, PodSetStatus
from workloads.rollout.fleet import Fleet, sort_fleet
from workloads.rollout.plan import Change, plan_rollout
from workloads.rollout.plan.resize import resize
from workloads.rollout.plan.rolling import roll
from workloads.rollout.podset_writer import change_patch
from workloads.rollout.resources import Rollout, RolloutStatus, StrategyType, parse_rollout
from workloads.rollout.revisions import begin_revision, forgotten, revision_of, with_revision

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = {"matchLabels": {"app": "web"}}


def template(version: int) -> Json:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"image": version}]}}


def rollout(replicas: int, **facts: Any) -> Rollout:
    made = Rollout(
        key=Key("default", "web"),
        uid=Uid("owner"),
        replicas=replicas,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template=template(9),
        max_surge=0,
        max_unavailable=0,
    )
    return replace(made, **facts)


def podset(version: int, replicas: int, *, available: int | None = None, **facts: Any) -> PodSet:
    count = facts.pop("noted", None)
    notes = (
        {}
        if count is None
        else {names.DESIRED_REPLICAS: str(count[0]), names.MAX_REPLICAS: str(count[1])}
    )
    made = PodSet(
        key=Key("default", f"v{version}"),
        uid=Uid(f"v{version}"),
        replicas=replicas,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template=template(version),
        created=NOW.replace(hour=version),
        annotations=notes | {names.REVISION: str(version)},
        status=PodSetStatus(
            replicas=replicas,
            available_replicas=replicas if available is None else available,
            observed_generation=1,
        ),
    )
    return replace(made, **facts)


def sizes(fleet: Fleet) -> dict[str, int]:
    return {each.key.name: each.replicas for each in fleet.all}


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "old", "new", "expected"),
    [
        (10, 2, 0, (10, 10), (0, 0), (10, 2)),
        (10, 0, 2, (10, 10), (0, 0), (8, 0)),
        (10, 0, 2, (8, 8), (0, 0), (8, 2)),
        (10, 0, 2, (8, 8), (2, 0), (8, 2)),
        (10, 0, 2, (8, 8), (2, 2), (6, 2)),
        (10, 2, 0, (10, 8), (0, 0), (10, 2)),
        (10, 0, 2, (10, 5), (0, 0), (8, 0)),
        (10, 0, 5, (10, 5), (0, 0), (5, 0)),
        (10, 2, 0, (0, 0), (12, 12), (0, 10)),
        (10, 2, 0, (0, 0), (10, 10), (0, 10)),
    ],
    ids=[
        "up by the surge",
        "down when there is no surge",
        "up where it went down",
        "not down while the new ones are not available",
        "down by as many as became available",
        "broken old pods do not matter on the way up",
        "broken old pods go first, within the room",
        "only the broken ones when just enough are available",
        "a new one that is too large shrinks",
        "nothing to do",
    ],
)
def test_one_step_of_a_rolling_update(
    replicas: int,
    surge: int,
    unavailable: int,
    old: tuple[int, int],
    new: tuple[int, int],
    expected: tuple[int, int],
) -> None:
    fleet = Fleet(podset(9, new[0], available=new[1]), (podset(1, old[0], available=old[1]),))

    after = roll(rollout(replicas, max_surge=surge, max_unavailable=unavailable), fleet)

    assert sizes(after) == {"v1": expected[0], "v9": expected[1]}


def test_the_oldest_revision_goes_first() -> None:
    fleet = Fleet(podset(9, 4), (podset(1, 3), podset(2, 3)))

    after = roll(rollout(6, max_surge=4, max_unavailable=0), fleet)

    assert sizes(after) == {"v1": 0, "v2": 2, "v9": 4}


def test_pods_that_are_still_there_leave_no_room() -> None:
    shrunk = podset(1, 2, status=PodSetStatus(replicas=3, available_replicas=3))

    after = roll(rollout(3, max_surge=0, max_unavailable=1), Fleet(podset(9, 0), (shrunk,)))

    assert sizes(after) == {"v1": 2, "v9": 0}


@pytest.mark.parametrize(
    ("replicas", "surge", "before", "expected"),
    [
        (12, 0, {1: 10}, {1: 12}),
        (6, 0, {1: 10}, {1: 6}),
        (20, 0, {1: 5, 2: 5}, {1: 10, 2: 10}),
        (12, 0, {1: 5, 2: 3, 3: 2}, {1: 6, 2: 4, 3: 2}),
        (5, 0, {1: 5, 2: 3, 3: 2}, {1: 2, 2: 2, 3: 1}),
        (1, 0, {1: 3, 2: 3, 3: 3}, {1: 0, 2: 0, 3: 1}),
        (0, 0, {1: 5, 2: 5}, {1: 0, 2: 0}),
        (10, 0, {1: 5, 2: 5}, {1: 5, 2: 5}),
    ],
)
def test_a_resize_is_shared_out(
    replicas: int, surge: int, before: dict[int, int], expected: dict[int, int]
) -> None:
    total = sum(before.values())
    old = tuple(podset(version, size, noted=(total, total)) for version, size in before.items())

    after = resize(rollout(replicas, max_surge=surge, max_unavailable=1), Fleet(None, old))

    assert sizes(after) == {f"v{version}": size for version, size in expected.items()}
    if replicas != total:
        for each in after.active:
            assert each.annotations[names.DESIRED_REPLICAS] == str(replicas)


def test_the_surge_is_part_of_what_is_shared_out() -> None:
    fleet = Fleet(podset(9, 5, noted=(10, 13)), (podset(1, 8, noted=(10, 13)),))

    after = resize(rollout(30, max_surge=3, max_unavailable=2), fleet)

    assert sizes(after) == {"v1": 20, "v9": 13}


def test_a_note_that_is_out_of_date_is_put_right_even_if_no_size_changes() -> None:
    """The built-in controller takes this for a change of scale for ever and does nothing else."""
    fleet = Fleet(None, (podset(1, 5, noted=(3, 4)),))

    after = resize(rollout(5, max_surge=1), fleet)

    assert sizes(after) == {"v1": 5}
    assert after.old[0].annotations[names.DESIRED_REPLICAS] == "5"
    assert resize(rollout(5, max_surge=1), after) == after


def test_so_it_is_for_recreate_with_several_active_ones() -> None:
    fleet = Fleet(podset(9, 2, noted=(3, 3)), (podset(1, 1, noted=(3, 3)),))
    recreating = rollout(4, strategy=StrategyType.RECREATE)

    after = resize(recreating, fleet)

    assert sizes(after) == {"v1": 1, "v9": 2}
    assert resize(recreating, after) == after


def test_a_saturated_new_podset_ends_the_old_ones() -> None:
    fleet = Fleet(podset(9, 3, noted=(3, 4)), (podset(1, 1, noted=(2, 3)),))

    assert sizes(resize(rollout(3, max_surge=1), fleet)) == {"v1": 0, "v9": 3}


def test_a_paused_rollout_gives_its_size_to_the_only_one_or_the_newest() -> None:
    paused = rollout(4, is_paused=True)

    assert sizes(resize(paused, Fleet(None, (podset(1, 2),)))) == {"v1": 4}
    assert sizes(resize(paused, Fleet(None, (podset(1, 0), podset(2, 0))))) == {"v1": 0, "v2": 4}
    assert resize(paused, Fleet()) == Fleet()


def test_a_deleting_podset_is_not_the_new_one() -> None:
    leaving = podset(9, 3, is_deleting=True)

    assert sort_fleet(rollout(3), [leaving]) == Fleet(None, (leaving,))


def test_of_equal_templates_the_oldest_is_the_new_one() -> None:
    first, second = (
        podset(9, 1),
        podset(9, 1, key=Key("default", "twin"), created=NOW.replace(hour=10)),
    )

    assert sort_fleet(rollout(3), [second, first]) == Fleet(first, (second,))


def test_a_new_revision_carries_its_hash_everywhere() -> None:
    begun = begin_revision(rollout(3, min_ready_seconds=5))
    hash_ = begun.labels[names.POD_TEMPLATE_HASH]

    assert begun.key.name == f"web-{hash_}"
    assert begun.template_labels == {"app": "web", names.POD_TEMPLATE_HASH: hash_}
    assert begun.selector.matches(begun.template_labels)
    assert not begun.selector.matches({"app": "web"})
    assert (begun.replicas, begun.min_ready_seconds) == (0, 5)


def test_a_planned_step_that_changes_nothing_writes_nothing() -> None:
    done = rollout(3, max_surge=1)
    fleet = with_revision(done, Fleet(podset(9, 3, noted=(3, 4))))

    plan = plan_rollout(done, fleet, now=NOW)

    assert (plan.create, plan.changes, plan.forget) == (None, (), ())


def test_the_history_remembers_numbers_and_forgets_the_oldest() -> None:
    again = podset(
        9, 0, annotations={names.REVISION: "1", names.REVISION_HISTORY: "1" + ",1" * 999}
    )

    numbered = with_revision(rollout(3), Fleet(again, (podset(2, 3),)))

    assert numbered.new is not None
    assert numbered.new.annotations[names.REVISION] == "3"
    history = numbered.new.annotations[names.REVISION_HISTORY]
    assert history.endswith(",1")
    assert len(history) <= 2000


def test_copied_annotations_are_those_of_the_rollout_but_ours_and_kubectls() -> None:
    annotations = {"team": "a", names.LAST_APPLIED: "{}", names.REVISION: "77"}
    before = podset(9, 1, annotations={"kept": "x", "old": "1", names.COPIED_ANNOTATIONS: "old"})

    after = with_revision(rollout(1, annotations=annotations), Fleet(before)).new

    assert after is not None
    assert after.annotations == {
        "kept": "x",
        "team": "a",
        names.COPIED_ANNOTATIONS: "team",
        names.REVISION: "1",
    }


def test_podsets_that_cannot_be_forgotten_do_not_use_up_the_quota() -> None:
    busy = podset(1, 0, status=PodSetStatus(replicas=1, observed_generation=1))
    unseen = podset(2, 0, status=PodSetStatus())
    leaving = podset(3, 0, status=PodSetStatus(terminating_replicas=1, observed_generation=1))
    old = (busy, unseen, leaving, podset(4, 0), podset(5, 0), podset(6, 0))

    chosen = forgotten(rollout(1, revision_history_limit=3), Fleet(None, old))

    assert [each.key.name for each in chosen] == ["v4", "v5", "v6"]


def test_a_patch_holds_what_differs_and_the_version_it_was_planned_on() -> None:
    before = podset(9, 1, resource_version="7", annotations={"gone": "1", "same": "1"})
    after = replace(before, replicas=2, min_ready_seconds=3, annotations={"same": "1", "new": "2"})

    assert change_patch(Change(before, after)) == {
        "metadata": {"resourceVersion": "7", "annotations": {"gone": None, "new": "2"}},
        "spec": {"replicas": 2, "minReadySeconds": 3},
    }
    assert change_patch(Change(before, replace(before, replicas=0))) == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"replicas": 0},
    }


def test_a_bare_rollout_is_read_with_the_defaults_of_a_deployment() -> None:
    parsed = parse_rollout(
        {"metadata": {"name": "web", "namespace": "default"}, "spec": {"selector": SELECTOR}}
    )

    assert (parsed.replicas, parsed.max_surge, parsed.max_unavailable) == (1, "25%", "25%")
    assert parsed.strategy is StrategyType.ROLLING_UPDATE
    assert parsed.status == RolloutStatus()


@pytest.mark.parametrize("absurd", ["9" * 4300, "9" * 5000, "-1", "1e9", "", "x"])
def test_numbers_that_somebody_edited_into_annotations_stop_nothing(absurd: str) -> None:
    edited = {names.REVISION: absurd, names.DESIRED_REPLICAS: absurd, names.MAX_REPLICAS: absurd}
    old = podset(1, 3, annotations=edited)
    wanted = rollout(3, max_surge=1)

    assert revision_of(old) == 0
    plan = plan_rollout(wanted, Fleet(begin_revision(wanted), (old,)), now=NOW)
    assert plan.create is not None
    assert plan.create.annotations[names.REVISION] == "1"
