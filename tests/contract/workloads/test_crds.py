"""What the API server refuses, with the field's name, and what it makes of what it takes."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kube_runtime.api import ApiClient
from kube_runtime.errors import Invalid
from kube_runtime.resource import Json, Resource
from local_cluster.kubectl import Kubectl
from tests.contract.workloads.world import World, podset, rollout
from workloads.names import PODSETS, ROLLOUTS
from workloads.podset.resources import parse_podset

pytestmark = pytest.mark.contract

KINDS = {PODSETS: podset, ROLLOUTS: rollout}


def changed(obj: Json, path: str, value: object) -> Json:
    """Set one field by its path."""
    *parents, last = path.split(".")
    target = obj
    for parent in parents:
        target = target.setdefault(parent, {})
    target[last] = value
    return obj


BOTH: list[tuple[str, object, str]] = [
    ("spec.replicas", -1, "spec.replicas"),
    ("spec.replicas", "two", "spec.replicas"),
    ("spec.minReadySeconds", -1, "spec.minReadySeconds"),
    ("spec.selector", {}, "spec.selector must not be empty"),
    ("spec.selector.matchLabels", {}, "spec.selector must not be empty"),
    ("spec.selector.matchLabels.app", "x", "spec.selector.matchLabels has app=x"),
    ("spec.selector.matchLabels.tier", "x", "spec.selector.matchLabels has tier=x"),
    ("spec.selector.matchLabels.app", "no spaces", "spec.selector.matchLabels.app"),
    (
        "spec.selector.matchExpressions",
        [{"key": "app", "operator": "In"}],
        "operator In needs at least one value",
    ),
    (
        "spec.selector.matchExpressions",
        [{"key": "app", "operator": "In", "values": ["x"]}],
        "spec.template.metadata.labels must meet",
    ),
    (
        "spec.selector.matchExpressions",
        [{"key": "app", "operator": "NotIn", "values": ["web"]}],
        "spec.template.metadata.labels must meet",
    ),
    (
        "spec.selector.matchExpressions",
        [{"key": "app", "operator": "DoesNotExist"}],
        "spec.template.metadata.labels must meet",
    ),
    (
        "spec.selector.matchExpressions",
        [{"key": "app", "operator": "Exists", "values": ["x"]}],
        "operator Exists takes no values",
    ),
    (
        "spec.selector.matchExpressions",
        [{"key": "app", "operator": "Like"}],
        "spec.selector.matchExpressions[0].operator",
    ),
    ("spec.template.metadata.labels", {}, "spec.template.metadata.labels"),
    (
        "spec.template.metadata.labels",
        {"app": "web", "bad key!": "x"},
        "spec.template.metadata.labels has a key",
    ),
    ("spec.template.spec.containers", [], "spec.template.spec.containers"),
    ("spec.template.spec.containers", [{"name": "web"}], "spec.template.spec.containers[0].image"),
    (
        "spec.template.spec.restartPolicy",
        "Never",
        "spec.template.spec.restartPolicy must be Always, found Never",
    ),
    (
        "spec.template.spec.activeDeadlineSeconds",
        5,
        "spec.template.spec.activeDeadlineSeconds must not be set",
    ),
    ("spec.replcas", 1, "spec.replcas"),
]
GATE = {
    "prometheus": "http://prometheus:9090",
    "query": "up",
    "threshold": {"operator": "<", "value": 1},
}
ROLLOUT_ONLY: list[tuple[str, object, str]] = [
    ("spec.steps", [{}], "spec.steps must have exactly one of replicas, pause, gate and job"),
    ("spec.steps", [{"replicas": 1, "pause": {}}], "must have exactly one of replicas"),
    ("spec.steps", [{"replicas": -1}], "spec.steps[0].replicas"),
    ("spec.steps", [{"replicas": "101%"}], "spec.steps[0].replicas"),
    ("spec.steps", [{"pause": {"seconds": 0}}], "spec.steps[0].pause.seconds"),
    ("spec.steps", [{"replicas": 1}] * 33, "spec.steps"),
    (
        "spec.steps",
        [{"gate": GATE | {"prometheus": "ftp://prometheus"}}],
        "spec.steps[0].gate.prometheus",
    ),
    (
        "spec.steps",
        [{"gate": GATE | {"prometheus": "http://me:secret@prometheus"}}],
        "spec.steps[0].gate.prometheus",
    ),
    (
        "spec.steps",
        [{"gate": GATE | {"threshold": {"operator": "~", "value": 1}}}],
        "spec.steps[0].gate.threshold.operator",
    ),
    ("spec.steps", [{"gate": {"query": "up"}}], "spec.steps[0].gate.prometheus"),
    ("spec.steps", [{"job": {}}], "spec.steps[0].job.template"),
    ("spec.steps", [{"job": {"template": {"spec": {}}}}], "spec.steps[0].job.template.spec"),
    ("spec.rollback.mode", "Never", "spec.rollback.mode"),
    ("spec.rollback.maxRestarts", -1, "spec.rollback.maxRestarts"),
    ("spec.config.mode", "Copy", "spec.config.mode"),
    ("spec.disruption.budget", "Some", "spec.disruption.budget"),
    ("spec.drainSeconds", -1, "spec.drainSeconds"),
    ("spec.defaults.safeToEvict", "yes", "spec.defaults.safeToEvict"),
    (
        "spec.progressDeadlineSeconds",
        0,
        "spec.progressDeadlineSeconds must be greater than spec.minReadySeconds",
    ),
    (
        "spec.minReadySeconds",
        600,
        "spec.progressDeadlineSeconds must be greater than spec.minReadySeconds",
    ),
    ("spec.revisionHistoryLimit", -1, "spec.revisionHistoryLimit"),
    ("spec.podReplacementPolicy", "Never", "spec.podReplacementPolicy"),
    ("spec.strategy.type", "Canary", "spec.strategy.type"),
    (
        "spec.strategy",
        {"type": "Recreate", "rollingUpdate": {"maxSurge": 1}},
        "spec.strategy.rollingUpdate must not be set",
    ),
    ("spec.strategy.rollingUpdate", {"maxSurge": 0, "maxUnavailable": 0}, "must not both be 0"),
    ("spec.strategy.rollingUpdate", {"maxSurge": "0%", "maxUnavailable": 0}, "must not both be 0"),
    (
        "spec.strategy.rollingUpdate",
        {"maxSurge": "000%", "maxUnavailable": "00%"},
        "must not both be 0",
    ),
    (
        "spec.strategy.rollingUpdate.maxUnavailable",
        "101%",
        "spec.strategy.rollingUpdate.maxUnavailable",
    ),
    ("spec.strategy.rollingUpdate.maxSurge", -1, "spec.strategy.rollingUpdate.maxSurge"),
    ("spec.strategy.rollingUpdate.maxSurge", "one", "spec.strategy.rollingUpdate.maxSurge"),
]


@pytest.mark.parametrize(
    ("resource", "path", "value", "message"),
    [(PODSETS, *case) for case in BOTH] + [(ROLLOUTS, *case) for case in BOTH + ROLLOUT_ONLY],
)
def test_kubectl_apply_is_refused_with_the_fields_name(
    world: World, kubectl: Kubectl, resource: Resource, path: str, value: object, message: str
) -> None:
    obj = changed(KINDS[resource]("web", 1), path, value)

    done = kubectl("apply", "-n", world.namespace, "-f", "-", stdin=json.dumps(obj), check=False)

    assert done.returncode == 1
    assert message in done.stderr


async def test_a_recreated_rollout_has_no_sizes_among_its_steps(world: World) -> None:
    strategy = {"type": "Recreate"}
    await world.rollout(1, "hooked", strategy=strategy, steps=[{"pause": {}}, {"gate": GATE}])

    with pytest.raises(Invalid, match=r"spec.steps must not have replicas when"):
        await world.rollout(1, strategy=strategy, steps=[{"replicas": 1}])


@pytest.mark.parametrize("resource", KINDS, ids=str)
async def test_the_selector_cannot_be_changed(
    world: World, kubectl: Kubectl, resource: Resource
) -> None:
    await world.create(resource, KINDS[resource]("web", 1))
    obj = KINDS[resource]("web", 1)
    obj["spec"]["template"]["metadata"]["labels"]["tier"] = "x"
    obj["spec"]["selector"]["matchLabels"]["tier"] = "x"

    done = kubectl("apply", "-n", world.namespace, "-f", "-", stdin=json.dumps(obj), check=False)

    assert done.returncode == 1
    assert "spec.selector is immutable" in done.stderr


@pytest.mark.parametrize("resource", KINDS, ids=str)
async def test_nobody_has_looked_at_a_new_object_yet(world: World, resource: Resource) -> None:
    created = await world.create(resource, KINDS[resource]("web", 1))

    assert created["status"]["observedGeneration"] == -1


async def test_defaults_are_those_of_a_deployment(world: World) -> None:
    obj = rollout("web", 1)
    del obj["spec"]["replicas"]

    spec = (await world.create(ROLLOUTS, obj))["spec"]

    assert spec["replicas"] == 1
    assert spec["progressDeadlineSeconds"] == 600
    assert spec["revisionHistoryLimit"] == 10
    assert spec["strategy"] == {"type": "RollingUpdate"}


async def test_a_template_keeps_every_field_of_a_pod(world: World) -> None:
    obj = podset("web", 1)
    spec = {
        "hostNetwork": False,
        "volumes": [{"name": "v", "emptyDir": {}}],
        "futureField": {"a": [1]},
    }
    obj["spec"]["template"]["spec"] |= spec
    obj["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]

    stored = (await world.create(PODSETS, obj))["spec"]["template"]["spec"]

    assert stored == obj["spec"]["template"]["spec"]


async def test_a_rolling_update_becomes_a_recreate_by_apply(world: World, kubectl: Kubectl) -> None:
    rolling = rollout("web", 1, strategy={"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
    recreate = rollout("web", 1, strategy={"type": "Recreate"})

    for obj in (rolling, recreate):
        kubectl("apply", "--server-side", "-n", world.namespace, "-f", "-", stdin=json.dumps(obj))

    spec = (await world.get(ROLLOUTS, "web"))["spec"]
    assert spec["strategy"]["type"] == "Recreate"


async def test_objects_can_be_selected_by_field(world: World) -> None:
    await world.create(ROLLOUTS, rollout("going", 1))
    await world.create(ROLLOUTS, rollout("held", 1, paused=True))

    paused = await world.all(ROLLOUTS, field_selector="spec.paused=true")

    assert [obj["metadata"]["name"] for obj in paused] == ["held"]


LABELS = st.dictionaries(
    st.sampled_from(["app", "tier", "a.b/c"]), st.sampled_from(["web", "db", ""]), max_size=3
)
EXPRESSIONS = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["app", "tier"]),
            "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
        },
        optional={"values": st.lists(st.sampled_from(["web", "db"]), max_size=2)},
    ),
    max_size=2,
)


@given(LABELS, LABELS, EXPRESSIONS)
@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_what_is_accepted_can_be_parsed_and_matches_its_template(
    world: World, kubeconfig: Path, labels: Json, match_labels: Json, expressions: list[Json]
) -> None:
    obj = podset("web", 1)
    obj["spec"]["selector"] = {"matchLabels": match_labels, "matchExpressions": expressions}
    obj["spec"]["template"]["metadata"]["labels"] = labels

    async def create() -> Json | None:
        async with await ApiClient.connect(
            kubeconfig=str(kubeconfig), user_agent="levelset-tests"
        ) as api:
            try:
                return await api.create(PODSETS, obj, namespace=world.namespace, dry_run=True)
            except Invalid:
                return None

    stored = asyncio.run(create())

    if stored is not None:
        parsed = parse_podset(stored)
        assert parsed.selector.matches(labels)
        assert not parsed.selector.is_empty
