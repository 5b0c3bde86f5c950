"""The real kubectl, as people who know Deployments use it."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cluster.kubectl import Kubectl
from tests.contract.workloads.world import World, running_controllers
from workloads.names import PODSETS, ROLLOUTS

pytestmark = pytest.mark.contract

CRDS = Path(__file__).parents[4] / "deploy" / "crds"


async def said(kubectl: Kubectl, world: World, *words: str) -> str:
    done = await asyncio.to_thread(kubectl, *words, "-n", world.namespace)
    return done.stdout


def row(table: str, name: str) -> dict[str, str]:
    """Read one line of a table of kubectl's by its columns."""
    lines = table.splitlines()
    starts = [match.start() for match in re.finditer(r"\S+(?: \S+)*", lines[0])]
    line = next(line for line in lines[1:] if line.startswith(name))
    ends = [*starts[1:], None]
    return {
        lines[0][start:end].strip(): line[start:end].strip()
        for start, end in zip(starts, ends, strict=True)
    }


async def test_get_o_wide_shows_revision_images_and_selector(live: World, kubectl: Kubectl) -> None:
    await live.rollout(2)
    await live.is_complete()

    shown = row(await said(kubectl, live, "get", "rollout", "-o", "wide"), "web")

    wanted = {
        "DESIRED": "2",
        "UPDATED": "2",
        "READY": "2",
        "AVAILABLE": "2",
        "STATUS": "RolloutComplete",
        "REVISION": "1",
        "IMAGES": "web:1",
        "SELECTOR": "app=web",
    }
    assert {column: shown.get(column) for column in wanted} == wanted
    podset = row(await said(kubectl, live, "get", "pset", "-o", "wide"), "web-")
    assert (podset["DESIRED"], podset["IMAGES"]) == ("2", "web:1")
    assert "web-" in await said(kubectl, live, "get", "all")


async def test_describe_tells_the_conditions_and_the_events(live: World, kubectl: Kubectl) -> None:
    await live.rollout(1)
    await live.is_complete()

    async def is_described() -> None:
        described = await said(kubectl, live, "describe", "rollout/web")
        for wanted in ("Kind:         Rollout", "RolloutComplete", "ScalingPodSet", "Events:"):
            assert wanted in described

    await live.eventually(is_described)
    (podset,) = await live.podsets()

    async def podset_too() -> None:
        name = podset["metadata"]["name"]
        assert "SuccessfulCreate" in await said(kubectl, live, "describe", f"podset/{name}")

    await live.eventually(podset_too)


@pytest.mark.parametrize("condition", ["Available", "Progressing", "Ready"])
async def test_wait_ends_when_the_condition_has_come(
    live: World, kubectl: Kubectl, condition: str
) -> None:
    await live.rollout(2)

    await said(
        kubectl, live, "wait", f"--for=condition={condition}", "rollout/web", "--timeout=10s"
    )

    await live.has_condition(ROLLOUTS, condition, "True")


async def test_wait_does_not_believe_in_a_condition_of_the_spec_before(
    world: World, kubectl: Kubectl
) -> None:
    async with running_controllers(world.api, world.namespace):
        kubelet = asyncio.create_task(world.run_kubelet())
        await world.rollout(1)
        await world.is_complete()
        kubelet.cancel()
    await world.set_image("web:2")  # and nobody is there to see it

    for condition in ("Ready", "Available"):
        done = await asyncio.to_thread(
            kubectl,
            "wait",
            f"--for=condition={condition}",
            "rollout/web",
            "--timeout=1s",
            "-n",
            world.namespace,
            check=False,
        )

        await world.has_condition(ROLLOUTS, condition, "True")
        assert "timed out waiting" in done.stderr


async def test_scale_takes_a_precondition(live: World, kubectl: Kubectl) -> None:
    await live.rollout(2)
    await live.is_complete()

    scale = ("scale", "rollout/web", "-n", live.namespace)
    wrong = kubectl(*scale, "--current-replicas=3", "--replicas=5", check=False)
    right = kubectl(*scale, "--current-replicas=2", "--replicas=3")

    assert wrong.returncode == 1
    assert "scaled" in right.stdout
    await live.is_complete(replicas=3)
    autoscaled = await live.api.get(
        PODSETS,
        (await live.podsets())[0]["metadata"]["name"],
        namespace=live.namespace,
        subresource="scale",
    )
    assert autoscaled["spec"]["replicas"] == 3


def fields(schema: dict[str, Any], path: str = "") -> list[str]:
    """List the paths of all fields that a schema declares."""
    found = []
    for name, field in (schema.get("properties") or {}).items():
        here = f"{path}.{name}"
        items = field.get("items") or {}
        found += [here, *fields(field, here), *fields(items, here)]
    return found


@pytest.mark.parametrize("kind", ["podset", "rollout"])
def test_explain_knows_every_field_of_ours(crds: None, kubectl: Kubectl, kind: str) -> None:
    crd = yaml.safe_load((CRDS / f"{kind}.yaml").read_text())
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    paths = [path for path in fields(schema) if path.startswith((".spec", ".status"))]

    shown = kubectl("explain", kind, "--recursive").stdout

    missing = [path for path in paths if not re.search(rf"\b{path.rpartition('.')[2]}\t", shown)]
    assert missing == []
    assert len(paths) > 30
    for path in ("spec.selector.matchExpressions.operator", "spec.template.spec.containers.image"):
        assert "FIELD:" in kubectl("explain", f"{kind}.{path}").stdout


@pytest.mark.parametrize("kind", ["podset", "rollout"])
def test_explain_ends_where_the_pod_spec_begins(crds: None, kubectl: Kubectl, kind: str) -> None:
    opaque = kubectl("explain", f"{kind}.spec.template.spec.volumes", check=False)
    hint = kubectl("explain", f"{kind}.spec.template.spec").stdout

    assert opaque.returncode == 1
    assert "does not exist" in opaque.stderr
    assert "kubectl explain pod.spec" in hint
