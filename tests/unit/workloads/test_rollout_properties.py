"""A model cluster with lagging PodSets: rollouts keep their bounds at every step and come to an end."""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from kube_runtime.conditions import is_true
from kube_runtime.resource import Json, Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads.podset.resources import PodSet, PodSetStatus
from workloads.rollout import maths
from workloads.rollout.fleet import sort_fleet
from workloads.rollout.plan import plan_rollout
from workloads.rollout.resources import PodReplacementPolicy, Rollout, StrategyType

START = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = {"matchLabels": {"app": "web"}}


def template(version: int) -> Json:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": f"web:{version}"}]},
    }


@dataclass
class Model:
    """PodSets whose pods come, become available and go one at a time, told to nobody at once."""

    rollout: Rollout
    seed: int
    broken: frozenset[str] = frozenset()
    podsets: dict[str, PodSet] = field(default_factory=dict)
    pods: dict[str, list[str]] = field(default_factory=dict)
    seconds: int = 0
    lowest_available: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.seconds)

    def count(self, *states: str) -> int:
        return sum(state in states for pods in self.pods.values() for state in pods)

    def sync_rollout(self) -> bool:
        """Plan and write; tell whether anything was written."""
        self.seconds += 1
        plan = plan_rollout(
            self.rollout, sort_fleet(self.rollout, self.podsets.values()), now=self.now
        )
        for change in plan.changes:
            self.write(change.before, change.after)
        if plan.create is not None:
            name = plan.create.key.name
            assert name not in self.podsets
            self.podsets[name] = replace(
                plan.create, uid=Uid(name), created=self.now, status=PodSetStatus()
            )
            self.pods[name] = []
        for podset in plan.forget:
            assert not self.pods[podset.key.name]
            del self.podsets[podset.key.name], self.pods[podset.key.name]
        has_written = bool(plan.changes or plan.create or plan.forget)
        has_written = has_written or plan.status.to_json() != self.rollout.status.to_json()
        self.rollout = replace(self.rollout, status=plan.status)
        return has_written

    def write(self, before: PodSet, after: PodSet) -> None:
        is_new_spec = (before.replicas, before.min_ready_seconds) != (
            after.replicas,
            after.min_ready_seconds,
        )
        self.podsets[after.key.name] = replace(after, generation=after.generation + is_new_spec)

    def manage(self, name: str) -> None:
        """Be the PodSet controller: one pod more or fewer, the broken first."""
        pods, wanted = self.pods[name], self.podsets[name].replicas
        active = [index for index, state in enumerate(pods) if state != "terminating"]
        if len(active) < wanted:
            pods.append("starting")
        elif len(active) > wanted:
            worst = min(active, key=lambda index: pods[index] == "available")
            pods[worst] = "terminating"

    def ripen(self, name: str) -> None:
        if name not in self.broken and "starting" in self.pods[name]:
            self.pods[name][self.pods[name].index("starting")] = "available"

    def bury(self, name: str) -> None:
        if "terminating" in self.pods[name]:
            self.pods[name].remove("terminating")

    def report(self, name: str) -> None:
        pods = self.pods[name]
        active = [state for state in pods if state != "terminating"]
        status = PodSetStatus(
            replicas=len(active),
            ready_replicas=active.count("available"),
            available_replicas=active.count("available"),
            terminating_replicas=pods.count("terminating"),
            observed_generation=self.podsets[name].generation,
        )
        self.podsets[name] = replace(self.podsets[name], status=status)

    def step(self) -> None:
        """Let one thing happen somewhere."""
        names = sorted(self.podsets)
        action = self.random.choice(["rollout", "manage", "manage", "ripen", "bury", "report"])
        if action == "rollout" or not names:
            self.sync_rollout()
        else:
            getattr(self, action)(self.random.choice(names))

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.step()

    def settle(self) -> None:
        """Let everything happen, round after round, until nothing is written any more."""
        for _ in range(400):
            for name in sorted(self.podsets):
                for _ in range(40):
                    self.manage(name)
                    self.ripen(name)
                    self.bury(name)
                self.report(name)
            if not self.sync_rollout():
                return
        raise AssertionError(f"never comes to rest: {self.podsets} {self.rollout.status}")


LIMIT = st.integers(0, 5) | st.integers(0, 100).map(lambda value: f"{value}%")


@st.composite
def rollouts(draw: st.DrawFn) -> Rollout:
    surge, unavailable = draw(LIMIT), draw(LIMIT)
    if surge in (0, "0%") and unavailable in (0, "0%"):
        surge = 1
    return Rollout(
        key=Key("ns", "web"),
        uid=Uid("owner"),
        replicas=draw(st.integers(0, 12)),
        selector=LabelSelector.parse(SELECTOR),
        raw_selector=SELECTOR,
        template=template(1),
        strategy=draw(st.sampled_from(StrategyType)),
        max_surge=surge,
        max_unavailable=unavailable,
        pod_replacement_policy=draw(st.sampled_from(PodReplacementPolicy)),
        revision_history_limit=draw(st.integers(0, 3)),
    )


SEEDS = st.integers(0, 2**32)


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
    assert len(fleet.old) <= model.rollout.revision_history_limit
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
