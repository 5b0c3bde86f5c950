"""The CRD files and what is said about them elsewhere go together."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from workloads import names
from workloads.blocked_by import BLOCK_REASONS, BlockedBy
from workloads.podset.resources import PodSetStatus
from workloads.rollout.resources import RolloutStatus
from workloads.rollout.standing import Held, KnownGood, StepStatus

ROOT = Path(__file__).parents[3]
KINDS = {"PodSet": names.PODSETS, "Rollout": names.ROLLOUTS}
BLOCKED = BlockedBy("Quota", "full")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
_SPELLED_OUT_ELSEWHERE = {"apiVersion", "kind", "metadata", "rollingUpdate"}

STEP = StepStatus(
    "web-a",
    type="Gate",
    message="m",
    since=NOW,
    failures=1,
    passing_since=NOW,
    measured_at=NOW,
    job="j",
    resume="web-a/0",
)
HELD = Held("web-a", 2, "hash", "GateFailed", "m", since=NOW, retry="1")
ROLLOUT_STATUS = RolloutStatus(
    last_progress=NOW,
    config="hash",
    known_good=KnownGood("web-a", 1),
    held=HELD,
    step=STEP,
    blocked_by=BLOCKED,
)


def crd(kind: str) -> Any:
    return yaml.safe_load((ROOT / "deploy" / "crds" / f"{kind.lower()}.yaml").read_text())


def schema(kind: str) -> Any:
    return crd(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]


def fields(node: Any) -> Iterator[str]:
    for name, child in (node.get("properties") or {}).items():
        yield name
        yield from fields(child)
    if "items" in node:
        yield from fields(node["items"])


@pytest.mark.parametrize("kind", KINDS)
def test_the_crd_serves_what_the_code_asks_for(kind: str) -> None:
    spec, resource = crd(kind)["spec"], KINDS[kind]

    assert (spec["group"], spec["names"]["plural"], spec["names"]["kind"]) == (
        resource.group,
        resource.plural,
        resource.kind,
    )
    assert [version["name"] for version in spec["versions"]] == [resource.version]
    assert "levelset" in spec["names"]["categories"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_is_described(kind: str) -> None:
    page = (ROOT / "docs" / "spec" / f"{kind}.md").read_text()

    missing = {
        field
        for field in set(fields(schema(kind))) - _SPELLED_OUT_ELSEWHERE
        if not any(text in page for text in (f"`{field}`", f".{field}`", f"`{field}."))
    }

    assert missing == set()


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("PodSet", PodSetStatus(backoff_until=NOW, blocked_by=BLOCKED)),
        ("Rollout", ROLLOUT_STATUS),
    ],
)
def test_the_status_that_is_written_is_the_status_that_is_declared(
    kind: str, status: PodSetStatus | RolloutStatus
) -> None:
    declared = set(schema(kind)["properties"]["status"]["properties"])

    assert set(status.to_json()) | {"lastProgressTime"} >= declared
    assert set(status.to_json()) <= declared


@pytest.mark.parametrize("part", ["knownGood", "held", "step"])
def test_what_a_rollout_remembers_is_declared_and_read_back(part: str) -> None:
    declared = schema("Rollout")["properties"]["status"]["properties"][part]["properties"]

    written = ROLLOUT_STATUS.to_json()

    assert set(written[part]) == set(declared)
    assert RolloutStatus.from_json(written) == ROLLOUT_STATUS


@pytest.mark.parametrize("kind", KINDS)
def test_the_reasons_that_are_written_are_those_that_are_declared(kind: str) -> None:
    declared = schema(kind)["properties"]["status"]["properties"]["blockedBy"]["properties"]

    assert declared["reason"]["enum"] == list(BLOCK_REASONS)
    assert set(BlockedBy("Quota", "x", pod="p", since=NOW).to_json()) == set(declared)


def test_the_rights_have_no_wildcard_and_cover_the_lease_of_our_name() -> None:
    path = ROOT / "deploy" / "chart" / "rbac" / "workloads.yaml"
    documents = list(yaml.safe_load_all(path.read_text()))
    rules = [rule for document in documents for rule in document.get("rules", ())]

    words = {word for rule in rules for values in rule.values() for word in values}

    assert "*" not in words
    assert names.FIELD_MANAGER in {name for rule in rules for name in rule.get("resourceNames", ())}
