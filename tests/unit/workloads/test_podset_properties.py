"""A model cluster: whatever happens, in whatever order, never a pod too many, and level in the end."""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads.pods import Pod
from workloads.podset.plan import World, plan_pods
from workloads.podset.resources import PodSet

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SELECTOR = {"matchLabels": {"app": "web"}}


@dataclass
class Cluster:
    """The truth, a cache that lags behind it, and a controller that sees only the cache."""

    replicas: int
    seed: int
    live: dict[str, Pod] = field(default_factory=dict)
    cached: dict[str, Pod] = field(default_factory=dict)
    backlog: list[str] = field(default_factory=list)
    expected: set[str] = field(default_factory=set)
    serial: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    @property
    def active(self) -> int:
        return sum(pod.is_active for pod in self.live.values())

    def touch(self, name: str, pod: Pod | None) -> None:
        if pod is None:
            self.live.pop(name, None)
        else:
            self.live[name] = pod
        self.backlog.append(name)

    def deliver(self) -> None:
        """Let the cache catch up with one object: events come per object in order, else in any."""
        if not self.backlog:
            return
        name = self.backlog.pop(self.random.randrange(len(self.backlog)))
        present = self.live.get(name)
        if present is None:
            self.cached.pop(name, None)
        else:
            self.cached[name] = present
        if present is None or present.is_deleting or name in self.cached:
            self.expected.discard(name)

    def sync(self, *, failures: int) -> None:
        """Run the controller; the first so many of its requests fail."""
        if self.expected:
            return  # nobody counts pods before the cache shows our own writes
        podset = PodSet(
            key=Key("ns", "web"),
            uid=Uid("owner"),
            replicas=self.replicas,
            selector=LabelSelector.parse(SELECTOR),
            raw_selector=SELECTOR,
            template={},
        )
        world = World(podset, tuple(self.cached.values()))
        plan = plan_pods(world, now=NOW, random_source=self.random)
        wanted = abs(self.replicas - sum(pod.is_active for pod in world.pods))
        assert len(plan.create) + len(plan.delete) <= wanted
        assert not (plan.create and plan.delete)
        for name in plan.create[failures:]:
            self.serial += 1
            self.expected.add(name)
            self.touch(name, Pod(name=name, uid=Uid(f"u{self.serial}"), labels={"app": "web"}))
        for pod in plan.delete[failures:]:
            if pod.name in self.live and self.live[pod.name].uid == pod.uid:
                self.expected.add(pod.name)
                self.touch(pod.name, replace(self.live[pod.name], is_deleting=True))

    def fail_one(self) -> None:
        if self.live:
            name = self.random.choice(sorted(self.live))
            self.touch(name, replace(self.live[name], phase="Failed"))

    def vanish_one(self) -> None:
        if self.live:
            self.touch(self.random.choice(sorted(self.live)), None)

    def finish_deletions(self) -> None:
        for name, pod in list(self.live.items()):
            if pod.is_deleting:
                self.touch(name, None)


STEP = st.sampled_from(["deliver", "deliver", "sync", "sync_failing", "fail", "vanish", "finish"])


def run(cluster: Cluster, step: str) -> None:
    match step:
        case "deliver":
            cluster.deliver()
        case "sync":
            cluster.sync(failures=0)
        case "sync_failing":
            cluster.sync(failures=2)
        case "fail":
            cluster.fail_one()
        case "vanish":
            cluster.vanish_one()
        case _:
            cluster.finish_deletions()


@given(st.integers(0, 12), st.lists(STEP, max_size=60), st.integers())
@settings(max_examples=50, deadline=None)
def test_never_one_pod_too_many_and_level_in_the_end(
    replicas: int, steps: list[str], seed: int
) -> None:
    cluster = Cluster(replicas, seed)

    for step in steps:
        run(cluster, step)
        assert cluster.active <= replicas
    settle(cluster)

    assert cluster.active == replicas


@given(st.integers(0, 12), st.integers(0, 12), st.lists(STEP, max_size=40), st.integers())
@settings(max_examples=50, deadline=None)
def test_a_scaled_podset_is_level_in_the_end(
    before: int, after: int, steps: list[str], seed: int
) -> None:
    cluster = Cluster(before, seed)
    for step in steps:
        run(cluster, step)
    cluster.replicas = after

    settle(cluster)

    assert cluster.active == after


@given(st.integers(0, 40), st.integers(0, 40), st.integers())
def test_a_plan_that_was_carried_out_is_followed_by_none(
    present: int, replicas: int, seed: int
) -> None:
    cluster = Cluster(present, seed)
    settle(cluster)
    cluster.replicas = replicas
    cluster.sync(failures=0)
    while cluster.backlog:
        cluster.deliver()
    before = dict(cluster.live)

    cluster.sync(failures=0)

    assert cluster.live == before


def settle(cluster: Cluster) -> None:
    """Let everything happen that is still to happen, and the controller look now and then."""
    for _ in range(5):
        while cluster.backlog:
            cluster.deliver()
        cluster.sync(failures=0)
        cluster.finish_deletions()
