"""A model cluster with lagging PodSets: rollouts keep their bounds at every step and come to an end."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kube_runtime.conditions import is_true
from tests.unit.workloads.rollout_model import SEEDS, Model, rollouts, template
from workloads.rollout import maths
from workloads.rollout.fleet import sort_fleet
from workloads.rollout.resources import PodReplacementPolicy, Rollout, StrategyType


@given(rollouts(), SEEDS)
@settings(max_examples=25, deadline=None)
def test_a_rolling_update_keeps_its_bounds_at_every_step(rollout: Rollout, seed: int) -> None:
    rollout = replace(rollout, strategy=StrategyType.ROLLING_UPDATE)
    model = Model(rollout, seed)
    model.settle()
    model.rollout = replace(model.rollout, template=template(2))
    at_most, at_least = maths.max_replicas(rollout), maths.min_available(rollout)

    for _ in range(300):
        model.step()

        assert sum(podset.replicas for podset in model.podsets.values()) <= at_most
        assert model.count("starting", "available") <= at_most
        assert model.count("available") >= at_least
        if rollout.pod_replacement_policy is PodReplacementPolicy.TERMINATION_COMPLETE:
            assert model.count("starting", "available", "terminating") <= at_most


@given(rollouts(), SEEDS)
@settings(max_examples=20, deadline=None)
def test_recreate_never_runs_two_versions(rollout: Rollout, seed: int) -> None:
    model = Model(replace(rollout, strategy=StrategyType.RECREATE), seed)
    model.settle()

    for version in (2, 3):
        model.rollout = replace(model.rollout, template=template(version))
        for _ in range(120):
            model.step()

            assert sum(bool(pods) for pods in model.pods.values()) <= 1


@given(rollouts(), st.lists(st.integers(1, 4), max_size=4), st.lists(st.integers(0, 12)), SEEDS)
@settings(max_examples=30, deadline=None)
def test_any_sequence_of_changes_ends_level_with_the_last(
    rollout: Rollout, versions: list[int], sizes: list[int], seed: int
) -> None:
    model = Model(rollout, seed)
    for version in versions:
        model.run(25)
        model.rollout = replace(model.rollout, template=template(version))
        for size in sizes[:2]:
            model.run(10)
            model.rollout = replace(model.rollout, replicas=size)

    model.settle()

    wanted = model.rollout.replicas
    assert [len(pods) for pods in model.pods.values() if pods] == [wanted] * bool(wanted)
    fleet = sort_fleet(model.rollout, model.podsets.values())
    assert fleet.new is not None
    assert fleet.new.replicas == wanted
    good = model.rollout.status.known_good
    forgettable = [old for old in fleet.old if good is None or old.key.name != good.podset]
    assert len(forgettable) <= model.rollout.revision_history_limit
    assert is_true(model.rollout.status.conditions, "Ready")


@given(rollouts(), st.integers(1, 12), SEEDS)
@settings(max_examples=20, deadline=None)
def test_pausing_stops_the_rollout_and_not_the_scaling(
    rollout: Rollout, size: int, seed: int
) -> None:
    model = Model(rollout, seed)
    model.settle()
    model.rollout = replace(model.rollout, template=template(2))
    model.run(30)
    model.rollout = replace(model.rollout, is_paused=True, replicas=size)

    model.settle()

    wanted = sum(podset.replicas for podset in model.podsets.values())
    at_least = size if size != rollout.replicas else maths.min_available(model.rollout)
    assert at_least <= wanted <= maths.max_replicas(model.rollout)
    model.rollout = replace(model.rollout, is_paused=False)
    model.settle()
    assert is_true(model.rollout.status.conditions, "Ready")


@given(rollouts(), SEEDS)
@settings(max_examples=20, deadline=None)
def test_going_back_takes_up_the_old_podset_again(rollout: Rollout, seed: int) -> None:
    model = Model(replace(rollout, revision_history_limit=3), seed)
    model.settle()
    first = sort_fleet(model.rollout, model.podsets.values()).new
    model.rollout = replace(model.rollout, template=template(2))
    model.run(50)
    model.settle()

    model.rollout = replace(model.rollout, template=template(1))
    model.settle()

    again = sort_fleet(model.rollout, model.podsets.values()).new
    assert first is not None
    assert again is not None
    assert again.uid == first.uid
    assert again.annotations["levelset.dev/revision"] == "3"
    assert again.annotations["levelset.dev/revision-history"] == "1"
    assert model.rollout.status.revision == 3


@given(rollouts(), SEEDS)
@settings(max_examples=20, deadline=None)
def test_a_version_that_never_starts_leaves_the_old_one_serving(
    rollout: Rollout, seed: int
) -> None:
    model = Model(replace(rollout, strategy=StrategyType.ROLLING_UPDATE), seed)
    model.settle()
    old = sort_fleet(model.rollout, model.podsets.values()).new
    model.rollout = replace(model.rollout, template=template(2))
    model.sync_rollout()
    model.broken = frozenset(model.podsets) - {old.key.name if old else ""}

    model.run(200)
    model.settle()

    assert model.count("available") >= maths.min_available(model.rollout)
