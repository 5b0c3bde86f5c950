"""Drains: a successor first, then the pod on the node that is being emptied; and the budget."""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime.resource import Json, Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads import names
from workloads.podset.resources import PodSet, PodSetStatus
from workloads.rollout import maths
from workloads.rollout.disruption.budget import (
    blocking,
    min_available,
    plan_budget,
    sort_budgets,
)
from workloads.rollout.disruption.keeper import outlook_of
from workloads.rollout.disruption.patience import Patience, Wait
from workloads.rollout.fleet import Fleet, size_annotations
from workloads.rollout.plan.disruption import protect
from workloads.rollout.policies import BudgetMode, DisruptionMode, DisruptionPolicy
from workloads.rollout.resources import PodReplacementPolicy, Rollout, StrategyType

SELECTOR = {"matchLabels": {"app": "web"}}
KEY = Key("default", "web")
RAW: Json = {"metadata": {"name": "web", "namespace": "default", "uid": "owner"}}
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def rollout(replicas: int, **facts: Any) -> Rollout:
    made = Rollout(
        key=KEY,
        uid=Uid("owner"),
        replicas=replicas,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template={"metadata": {"labels": {"app": "web"}}, "spec": {}},
    )
    return replace(made, **facts)


def podset(of: Rollout, size: int, **status: Any) -> PodSet:
    counts = {"replicas": size, "available_replicas": size, "observed_generation": 1}
    return PodSet(
        key=Key("default", "v1"),
        uid=Uid("v1"),
        replicas=size,
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template=of.template,
        annotations=size_annotations(of),
        status=PodSetStatus(**(counts | status)),
    )


def next_size(of: Rollout, present: PodSet, *old: PodSet) -> int | None:
    after = protect(of, Fleet(present, old))
    return after.new.replicas if after is not None and after.new is not None else None


def test_one_pod_gets_one_successor_and_then_goes() -> None:
    one = rollout(1)

    assert next_size(one, podset(one, 1, disrupted_replicas=1)) == 2
    assert next_size(one, podset(one, 2, disrupted_replicas=1, available_replicas=1)) == 2
    assert next_size(one, podset(one, 2, disrupted_replicas=1)) == 1
    assert next_size(one, podset(one, 1)) is None


def test_more_pods_than_the_surge_go_one_group_after_the_other() -> None:
    ten = rollout(10, max_surge=2)

    assert next_size(ten, podset(ten, 10, disrupted_replicas=5)) == 12
    assert next_size(ten, podset(ten, 12, disrupted_replicas=5)) == 10
    assert next_size(ten, podset(ten, 10, disrupted_replicas=3)) == 12
    assert next_size(ten, podset(ten, 12, disrupted_replicas=1)) == 11


@pytest.mark.parametrize(
    "unsettled",
    [
        {"replicas": 1},
        {"observed_generation": 0},
    ],
)
def test_each_step_waits_for_the_one_before(unsettled: dict[str, int]) -> None:
    one = rollout(1)

    assert next_size(one, podset(one, 2, disrupted_replicas=1, **unsettled)) == 2


def test_terminating_pods_take_room_where_they_are_to_be_waited_for() -> None:
    waits = rollout(1, pod_replacement_policy=PodReplacementPolicy.TERMINATION_COMPLETE)

    assert next_size(waits, podset(waits, 1, disrupted_replicas=1, terminating_replicas=1)) == 1


@pytest.mark.parametrize(
    "facts",
    [
        {"disruption": DisruptionPolicy(mode=DisruptionMode.NONE)},
        {"strategy": StrategyType.RECREATE},
        {"max_surge": 0, "max_unavailable": 1},
    ],
    ids=["switched off", "Recreate", "no surge"],
)
def test_nothing_is_done_where_no_successor_may_come_first(facts: dict[str, Any]) -> None:
    one = rollout(1, **facts)

    assert next_size(one, podset(one, 1, disrupted_replicas=1)) is None
    assert min_available(one) == 0, "a drain must be able to finish"


def test_a_rollout_under_way_and_a_resize_come_first() -> None:
    one = rollout(1)
    old = replace(podset(one, 1), key=Key("default", "v0"))

    assert next_size(one, podset(one, 1, disrupted_replicas=1), old) is None
    assert next_size(replace(one, replicas=3), podset(one, 1, disrupted_replicas=1)) is None


def test_a_paused_rollout_protects_its_old_pods() -> None:
    paused = rollout(1, is_paused=True)
    after = protect(paused, Fleet(None, (podset(paused, 1, disrupted_replicas=1),)))

    assert after is not None
    assert [each.replicas for each in after.old] == [2]


# ---- the budget ----


def budget(name: str, *, owner: str = "", **facts: Any) -> Json:
    metadata: Json = {"name": name, "namespace": "default"}
    if owner:
        metadata["ownerReferences"] = [{"uid": owner, "controller": True}]
    spec = {"selector": facts.pop("selector", SELECTOR), **facts.pop("spec", {})}
    return {"metadata": metadata, "spec": spec, "status": facts}


def plan(of: Rollout, *present: Json, has_let_go: bool = False) -> Any:
    budgets = sort_budgets(RAW, {"app": "web"}, present)
    return plan_budget(RAW, of, budgets, has_let_go=has_let_go)


@pytest.mark.parametrize(
    ("replicas", "facts", "expected"),
    [
        (1, {}, 1),
        (3, {}, 3),
        (4, {}, 3),
        (10, {"max_unavailable": "50%"}, 5),
        (3, {"max_surge": 0, "max_unavailable": 1}, 2),
        (1, {"strategy": StrategyType.RECREATE}, 0),
        (0, {}, 0),
    ],
)
def test_the_budget_keeps_what_a_rollout_would_keep(
    replicas: int, facts: dict[str, Any], expected: int
) -> None:
    made = plan(rollout(replicas, **facts)).create

    assert made["spec"]["minAvailable"] == expected
    assert made["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    assert made["metadata"]["name"] == "web-rollout"


def test_a_budget_that_is_level_is_left_alone_and_any_other_is_corrected() -> None:
    three = rollout(3)
    made = plan(three).create
    ours = {**budget("web-rollout", owner="owner"), "spec": made["spec"]}

    assert plan(three, ours) == plan(three, ours, budget("x", selector={"matchLabels": {"a": "b"}}))
    assert (plan(three, ours).patch, plan(three, ours).create) == (None, None)
    assert plan(rollout(5), ours).patch["spec"]["minAvailable"] == 4
    ours["spec"] = {**made["spec"], "maxUnavailable": 1}
    assert plan(three, ours).patch["spec"]["maxUnavailable"] is None


def test_the_users_own_budget_is_the_only_one() -> None:
    theirs, ours = budget("theirs", selector={}), budget("web-rollout", owner="owner")

    assert plan(rollout(3), theirs).create is None
    assert plan(rollout(3), theirs, ours).delete
    assert not plan(rollout(3), budget("none", selector=None)).delete
    assert plan(rollout(3), budget("none", selector=None)).create is not None


def test_a_name_that_is_taken_is_left_to_whoever_has_it() -> None:
    made = plan(rollout(3), budget("web-rollout", selector={"matchLabels": {"app": "other"}}))

    assert (made.create, made.patch, made.delete) == (None, None, False)


def test_it_goes_when_it_is_not_wanted_or_has_waited_for_long_enough() -> None:
    ours = budget("web-rollout", owner="owner")
    unmanaged = rollout(3, disruption=DisruptionPolicy(budget=BudgetMode.NONE))

    assert plan(unmanaged, ours).delete
    assert plan(rollout(3), ours, has_let_go=True).delete
    assert not plan(rollout(3), has_let_go=True).delete


def test_the_budget_that_blocks_is_named() -> None:
    free, full = budget("a", disruptionsAllowed=1), budget("b", disruptionsAllowed=0)

    assert blocking(sort_budgets(RAW, {"app": "web"}, [free])) is None
    assert blocking(sort_budgets(RAW, {"app": "web"}, [free, full])) == full
    assert blocking(sort_budgets(RAW, {"app": "web"}, [budget("new")])) is None


def test_every_pod_that_gets_away_starts_the_wait_anew() -> None:
    patience = Patience()

    patience.look(KEY, 2, NOW)
    still = patience.look(KEY, 2, NOW + timedelta(seconds=50))
    assert still is not None
    assert still.seconds(NOW + timedelta(seconds=50)) == 50
    moved = patience.look(KEY, 1, NOW + timedelta(seconds=60))
    assert moved is not None
    assert moved.seconds(NOW + timedelta(seconds=60)) == 0
    assert patience.look(KEY, 0, NOW) is None


@pytest.mark.parametrize(
    ("waited", "is_told", "look_again_after"),
    [(0, False, 11), (10, True, 591), (600, True, None)],
)
def test_a_drain_that_waits_says_for_which_budget(
    *, waited: int, is_told: bool, look_again_after: float | None
) -> None:
    budgets = sort_budgets(RAW, {"app": "web"}, [budget("theirs", disruptionsAllowed=0)])

    found = outlook_of(budgets, Wait(2, NOW), 600.0, NOW + timedelta(seconds=waited))

    assert found.look_again_after == look_again_after
    assert (found.blocked_by is not None) == is_told
    if found.blocked_by is not None:
        assert found.blocked_by.reason == "PodDisruptionBudget"
        assert "theirs" in found.blocked_by.message
        assert (found.blocked_by.count, found.blocked_by.since) == (2, NOW)


# ---- a model: nodes are cordoned and drained at random while the controllers lag behind ----


@dataclass
class Node:
    """One pod of the model."""

    node: int
    is_available: bool = False


@dataclass
class Model:
    """One steady Rollout on a few nodes, with a PodSet controller and drains that keep budgets."""

    rollout: Rollout
    random: random.Random
    cordoned: set[int] = field(default_factory=set)
    pods: list[Node] = field(default_factory=list)
    size: int = 0
    generation: int = 1
    status: PodSetStatus = field(default_factory=PodSetStatus)

    def available(self) -> int:
        return sum(pod.is_available for pod in self.pods)

    def plan(self) -> None:
        present = replace(
            podset(self.rollout, self.size), generation=self.generation, status=self.status
        )
        fleet = protect(self.rollout, Fleet(present))
        if fleet is not None and fleet.new is not None:
            wanted = fleet.new.replicas
        elif self.size > self.rollout.replicas and self.status.disrupted_replicas == 0:
            wanted = self.rollout.replicas  # what the rolling update does with a surplus
        else:
            wanted = self.size
        if wanted != self.size:
            self.size, self.generation = wanted, self.generation + 1

    def manage(self) -> None:
        """Be the PodSet controller: the ranking takes what is not ready, then what is disrupted."""
        if len(self.pods) < self.size:
            free = [node for node in range(4) if node not in self.cordoned]
            self.pods.append(Node(self.random.choice(free) if free else -1))
        elif len(self.pods) > self.size:
            self.pods.sort(key=lambda pod: (pod.is_available, pod.node not in self.cordoned))
            del self.pods[0]

    def report(self) -> None:
        self.status = PodSetStatus(
            replicas=len(self.pods),
            available_replicas=self.available(),
            disrupted_replicas=sum(
                pod.is_available and pod.node in self.cordoned for pod in self.pods
            ),
            observed_generation=self.generation,
        )

    def ripen(self) -> None:
        waiting = [pod for pod in self.pods if not pod.is_available and pod.node >= 0]
        if waiting:
            self.random.choice(waiting).is_available = True

    def evict(self) -> None:
        """Be a drain: the budget is kept, as the API server keeps it."""
        there = [pod for pod in self.pods if pod.node in self.cordoned]
        if there and self.available() - 1 >= min_available(self.rollout):
            self.pods.remove(there[0])

    def schedule(self) -> None:
        free = [node for node in range(4) if node not in self.cordoned]
        for pod in self.pods:
            if pod.node < 0 and free:
                pod.node = free[0]

    def cordon(self) -> None:
        if len(self.cordoned) < 3:
            self.cordoned.add(self.random.randrange(4))

    def uncordon(self) -> None:
        if self.cordoned:
            self.cordoned.remove(self.random.choice(sorted(self.cordoned)))


@given(
    seed=st.integers(0, 2**32),
    replicas=st.integers(1, 8),
    surge=st.integers(1, 3),
    unavailable=st.integers(0, 3),
)
def test_drains_keep_to_the_bounds_and_come_to_an_end(
    seed: int, replicas: int, surge: int, unavailable: int
) -> None:
    aim = rollout(replicas, max_surge=surge, max_unavailable=unavailable)
    model = Model(aim, random.Random(seed), size=replicas)
    model.pods = [Node(index % 4, is_available=True) for index in range(replicas)]
    model.report()
    steps = ["plan", "manage", "report", "ripen", "schedule", "evict", "cordon", "uncordon"]

    for _ in range(120):
        getattr(model, model.random.choice(steps))()
        assert replicas <= model.size <= maths.max_replicas(aim)
        assert model.available() >= maths.min_available(aim)

    model.cordon()
    for _ in range(60):
        for step in ("report", "plan", "manage", "schedule", "ripen"):
            getattr(model, step)()
    assert model.size == replicas
    assert not [pod for pod in model.pods if pod.node in model.cordoned]
    assert names.DESIRED_REPLICAS in size_annotations(aim)
