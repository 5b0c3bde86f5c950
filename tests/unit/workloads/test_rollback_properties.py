"""A model cluster in which revisions fail: bounds are kept all the way back, and it comes to rest."""

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from kube_runtime.conditions import is_true
from kube_runtime.resource import Json
from tests.unit.workloads.rollout_model import SEEDS, Model, rollouts, template
from workloads.podset.resources import PodSet
from workloads.rollout import maths
from workloads.rollout.evidence import Evidence, JobOutcome, JobState, Measurement
from workloads.rollout.fleet import Fleet, sort_fleet
from workloads.rollout.plan import Plan, plan_rollout, questions
from workloads.rollout.resources import PodReplacementPolicy, Rollout, StrategyType
from workloads.rollout.steps import GateStep, parse_steps

GATE: Json = {
    "gate": {
        "prometheus": "http://prometheus",
        "query": "up",
        "threshold": {"operator": ">", "value": 0},
        "intervalSeconds": 1,
        "failureLimit": 0,
    }
}
JOB: Json = {"job": {"template": {"spec": {"template": {}}}}}
SIZES = st.integers(0, 12) | st.integers(0, 100).map(lambda value: f"{value}%")
STEPS = st.lists(
    SIZES.map(lambda size: {"replicas": size})
    | st.sampled_from([GATE, JOB, {"pause": {"seconds": 2}}]),
    max_size=4,
)


@dataclass
class Stepping(Model):
    """Answers what a plan asks: gates and Jobs say yes, or no from a moment on."""

    says_no: bool = False

    def plan(self, fleet: Fleet) -> Plan:
        asked = questions(self.rollout, fleet, now=self.now).step
        evidence: Evidence | None = None
        if isinstance(asked, GateStep):
            evidence = Measurement((0.0 if self.says_no else 1.0,))
        elif asked is not None:
            evidence = JobOutcome(JobState.FAILED if self.says_no else JobState.SUCCEEDED)
        return plan_rollout(self.rollout, fleet, now=self.now, evidence=evidence)

    def spec_podset(self) -> PodSet | None:
        return sort_fleet(self.rollout, self.podsets.values()).new

    def keeps_bounds(self) -> None:
        rollout = self.rollout
        wanted = sum(podset.replicas for podset in self.podsets.values())
        assert wanted <= maths.max_replicas(rollout)
        assert self.count("starting", "available") <= maths.max_replicas(rollout)
        assert self.count("available") >= maths.min_available(rollout)
        if rollout.pod_replacement_policy is PodReplacementPolicy.TERMINATION_COMPLETE:
            everything = self.count("starting", "available", "terminating")
            assert everything <= maths.max_replicas(rollout)


def begun(
    rollout: Rollout,
    seed: int,
    steps: list[Json],
    *,
    strategy: StrategyType = StrategyType.ROLLING_UPDATE,
) -> Stepping:
    """A complete Rollout that is about to roll out its second revision."""
    replicas = max(1, rollout.replicas)
    rollout = replace(
        rollout,
        replicas=replicas,
        steps=parse_steps(steps),
        strategy=strategy,
        progress_deadline_seconds=40,
    )
    model = Stepping(rollout, seed)
    model.settle()
    assert model.rollout.status.known_good is not None
    model.rollout = replace(model.rollout, template=template(2), generation=2)
    return model


@given(rollouts(), STEPS, SEEDS)
@settings(max_examples=40, deadline=None)
def test_steps_keep_the_bounds_and_come_to_an_end(
    rollout: Rollout, steps: list[Json], seed: int
) -> None:
    model = begun(rollout, seed, steps)

    for _ in range(250):
        model.step()
        model.keeps_bounds()
    model.seconds += 60
    model.settle()

    model.rollout = replace(model.rollout, annotations={"levelset.dev/retry": "1"})
    model.settle()
    assert is_true(model.rollout.status.conditions, "Ready")
    new = model.spec_podset()
    assert new is not None
    assert new.replicas == model.rollout.replicas


@given(rollouts(), STEPS, SEEDS, st.integers(0, 60))
@settings(max_examples=40, deadline=None)
def test_a_revision_that_never_starts_makes_way_within_the_bounds(
    rollout: Rollout, steps: list[Json], seed: int, patience: int
) -> None:
    model = begun(rollout, seed, steps)
    good = next(iter(model.podsets))
    model.sync_rollout()
    model.broken = frozenset(model.podsets) - {good}
    for _ in range(patience):
        model.step()
        model.keeps_bounds()
    for _ in range(3):
        model.seconds += 60  # the deadline passes
        for _ in range(120):
            model.step()
            model.keeps_bounds()
    model.settle()

    held = model.rollout.status.held
    new = model.spec_podset()
    if held is None:  # no pod of it was ever asked for
        assert new is None or not model.pods[new.key.name]
        return
    assert new is not None
    assert held.podset == new.key.name
    assert [name for name, pods in model.pods.items() if pods] == [good]
    assert len(model.pods[good]) == model.rollout.replicas
    assert is_true(model.rollout.status.conditions, "RolledBack")
    assert not is_true(model.rollout.status.conditions, "Ready")


@given(rollouts(), STEPS, SEEDS, st.integers(0, 80))
@settings(max_examples=40, deadline=None)
def test_a_gate_that_says_no_brings_the_good_revision_back_within_the_bounds(
    rollout: Rollout, steps: list[Json], seed: int, patience: int
) -> None:
    model = begun(rollout, seed, [*steps, GATE])
    good = next(iter(model.podsets))
    model.run(patience)
    model.says_no = True
    was_through = model.rollout.status.known_good
    for _ in range(250):
        model.step()
        model.keeps_bounds()
    model.seconds += 5
    model.settle()

    if was_through is not None and was_through.podset != good:
        return  # the gates had said yes before
    if model.rollout.status.held is None:
        new = model.rollout.status.known_good
        assert new is not None
        assert new.podset != good  # the last gate had just said yes
        return
    assert [name for name, pods in model.pods.items() if pods] == [good]
    assert model.rollout.status.step is None


@given(rollouts(), STEPS, SEEDS, st.lists(st.integers(1, 12), min_size=1, max_size=3))
@settings(max_examples=30, deadline=None)
def test_sizes_and_templates_may_change_at_every_step(
    rollout: Rollout, steps: list[Json], seed: int, sizes: list[int]
) -> None:
    model = begun(rollout, seed, steps)
    for version, size in enumerate(sizes, start=3):
        model.run(25)
        model.says_no = not model.says_no
        model.rollout = replace(model.rollout, replicas=size)
        model.run(25)
        model.rollout = replace(model.rollout, template=template(version), generation=version)
    model.says_no = False

    for attempt in range(3):
        model.seconds += 60
        model.settle()
        retry = {"levelset.dev/retry": str(attempt)}
        model.rollout = replace(model.rollout, annotations=retry)
    model.settle()

    assert is_true(model.rollout.status.conditions, "Ready")
    assert [len(pods) for pods in model.pods.values() if pods] == [model.rollout.replicas]


@given(
    rollouts(),
    st.lists(st.sampled_from([GATE, JOB]), max_size=2),
    SEEDS,
    st.sampled_from(["yes", "no"]),
)
@settings(max_examples=20, deadline=None)
def test_recreate_goes_back_without_ever_running_two_versions(
    rollout: Rollout, steps: list[Json], seed: int, answer: str
) -> None:
    model = begun(rollout, seed, steps, strategy=StrategyType.RECREATE)
    good = next(iter(model.podsets))
    model.sync_rollout()
    model.says_no = answer == "no"
    for _ in range(4):
        model.seconds += 60
        for _ in range(100):
            model.step()
            model.broken = frozenset(model.podsets) - {good}
            assert sum(bool(pods) for pods in model.pods.values()) <= 1
    model.settle()

    assert model.rollout.status.held is not None
    assert [name for name, pods in model.pods.items() if pods] == [good]
    assert is_true(model.rollout.status.conditions, "RolledBack")
