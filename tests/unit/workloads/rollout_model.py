"""A model cluster whose PodSets lag: pods come, become available and go one at a time."""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from kube_runtime.resource import Json, Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads.podset.resources import PodSet, PodSetStatus
from workloads.rollout.fleet import Fleet, sort_fleet
from workloads.rollout.plan import Plan, plan_rollout
from workloads.rollout.resources import PodReplacementPolicy, Rollout, StrategyType

SEEDS = st.integers(0, 2**32)
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
        plan = self.plan(sort_fleet(self.rollout, self.podsets.values()))
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

    def plan(self, fleet: Fleet) -> Plan:
        return plan_rollout(self.rollout, fleet, now=self.now)

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
