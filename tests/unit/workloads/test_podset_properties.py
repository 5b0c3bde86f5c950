"""A model cluster: whatever happens, in whatever order, never a pod too many, and level in the end.

Pods fail before they are ready or after it, so that creations are held back and failed pods
collected in the middle of everything else.
"""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads.pods import Pod
from workloads.podset.backoff import EVIDENCE, LONGEST_DELAY, evidence_key
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
    seconds: int = 0

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    @property
    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.seconds)

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
        plan = plan_pods(world, now=self.now, random_source=self.random)
        wanted = abs(self.replicas - sum(pod.is_active for pod in world.pods))
        assert len(plan.create) + len(plan.delete) <= wanted
        assert not (plan.create and plan.delete)
        for name in plan.create[failures:]:
            self.serial += 1
            self.expected.add(name)
            uid = Uid(f"u{self.serial}")
            self.touch(name, Pod(name=name, uid=uid, labels={"app": "web"}, created=self.now))
        for pod in (*plan.delete[failures:], *plan.collect[failures:]):
            if pod.name in self.live and self.live[pod.name].uid == pod.uid:
                self.expected.add(pod.name)
                self.touch(pod.name, replace(self.live[pod.name], is_deleting=True))

    def fail_one(self, *, was_ready: bool = False) -> None:
        running = sorted(name for name, pod in self.live.items() if not pod.is_terminal)
        if running:
            name = self.random.choice(running)
            self.touch(
                name,
                replace(
                    self.live[name],
                    phase="Failed",
                    ready_since=None,
                    has_been_ready=was_ready,
                    ended=self.now,
                ),
            )

    def ready_one(self) -> None:
        waiting = sorted(name for name, pod in self.live.items() if pod.is_active)
        if waiting:
            name = self.random.choice(waiting)
            self.touch(name, replace(self.live[name], phase="Running", ready_since=self.now))

    def vanish_one(self) -> None:
        if self.live:
            self.touch(self.random.choice(sorted(self.live)), None)

    def finish_deletions(self) -> None:
        for name, pod in list(self.live.items()):
            if pod.is_deleting:
                self.touch(name, None)


STEP = st.sampled_from(
    [
        *("deliver", "deliver", "sync", "sync", "sync_failing"),
        *("fail", "fail_later", "ready", "wait", "vanish", "finish"),
    ]
)


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
        case "fail_later":
            cluster.fail_one(was_ready=True)
        case "ready":
            cluster.ready_one()
        case "wait":
            cluster.seconds += 2
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


@given(st.integers(0, 30), st.integers(0, 60), st.integers())
@settings(max_examples=50, deadline=None)
def test_of_the_ended_pods_only_the_newest_are_kept(
    replicas: int, failures: int, seed: int
) -> None:
    cluster = Cluster(replicas, seed)
    for _ in range(failures):
        settle(cluster, rounds=1)
        cluster.fail_one(was_ready=True)
        cluster.seconds += 1
    ended = [pod for pod in cluster.live.values() if pod.is_terminal]

    settle(cluster)

    kept = [pod for pod in cluster.live.values() if pod.is_terminal]
    newest = sorted(ended, key=evidence_key)[-EVIDENCE:]
    assert {pod.uid for pod in kept} == {pod.uid for pod in newest}


@given(st.integers(1, 6), st.integers(0, 3), st.integers())
@settings(max_examples=50, deadline=None)
def test_a_template_that_is_refused_outright_makes_few_pods(
    replicas: int, seconds_to_fail: int, seed: int
) -> None:
    cluster = Cluster(replicas, seed)

    for _ in range(60):
        settle(cluster, rounds=1)
        for name, pod in list(cluster.live.items()):
            is_due = pod.created is not None and (cluster.now - pod.created).seconds
            if pod.is_active and is_due >= seconds_to_fail:
                cluster.touch(name, replace(pod, phase="Failed"))
        cluster.seconds += 1

    assert cluster.serial < 10


def settle(cluster: Cluster, *, rounds: int = 12) -> None:
    """Let everything happen that is still to happen, and the controller look now and then."""
    for turn in range(rounds):
        while cluster.backlog:
            cluster.deliver()
        cluster.sync(failures=0)
        cluster.finish_deletions()
        if turn:
            # As long as any back-off is; pods that come in it neither fail nor become ready.
            cluster.seconds += int(LONGEST_DELAY.total_seconds())
