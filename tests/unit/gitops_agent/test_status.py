"""What is reported, and that it is reported the same twice."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gitops_agent.concurrently import for_each
from gitops_agent.errors import GitFailed, RenderFailed
from gitops_agent.health import HEALTHY, Health, HealthStatus
from gitops_agent.objects import GroupKind, ObjectId
from gitops_agent.overlay import Overlay
from gitops_agent.reporting import failure_report
from gitops_agent.resources import Application, InventoryEntry, Operation
from gitops_agent.status import Report, ResourceReport, status_json
from kube_runtime.clock import FakeClock
from kube_runtime.resource import Json

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ID = ObjectId(GroupKind("apps", "Deployment"), "ns", "web")
REPORT = Report(
    sync="Synced",
    revision="c" * 40,
    health=HEALTHY,
    operation=Operation(id="r", phase="Succeeded", revision="c" * 40, attempt="a", finished_at=NOW),
    resources=[ResourceReport(ID, "v1", "Synced", HEALTHY)],
    inventory=[InventoryEntry(ID, "v1", "u")],
    cluster_uid="cluster",
)


def _application(status: Json | None = None) -> Application:
    metadata = {"name": "app", "namespace": "ns", "uid": "u", "generation": 3}
    return Application.of({"metadata": metadata, "spec": {}, "status": status or {}})


def _condition(status: Json, kind: str) -> Json | None:
    return next((c for c in status["conditions"] if c["type"] == kind), None)


def test_what_was_reported_is_reported_again_to_the_byte() -> None:
    first = status_json(_application(), REPORT, NOW)

    second = status_json(_application(first), REPORT, NOW + timedelta(hours=1))

    assert first == second


def test_what_was_reported_is_read_back() -> None:
    application = _application(status_json(_application(), REPORT, NOW))

    assert application.inventory == (InventoryEntry(ID, "v1", "u"),)
    assert application.operation == REPORT.operation
    assert application.synced_revision == "c" * 40
    assert application.cluster_uid == "cluster"


def test_level_and_healthy_is_ready_and_nothing_else_is() -> None:
    ready = _condition(status_json(_application(), REPORT, NOW), "Ready")
    assert ready is not None
    assert (ready["status"], ready["observedGeneration"]) == ("True", 3)

    for changed in (
        replace(REPORT, sync="OutOfSync"),
        replace(REPORT, health=Health(HealthStatus.Progressing, "waits")),
        replace(REPORT, abnormal={"SyncError": ("Refused", "no")}),
    ):
        status = status_json(_application(), changed, NOW)
        ready = _condition(status, "Ready")
        assert ready is not None
        assert ready["status"] == "False"
        assert _condition(status, "Reconciling") is not None


def test_a_condition_goes_when_its_cause_has_gone() -> None:
    broken = replace(REPORT, abnormal={"SyncError": ("Refused", "no")})
    before = status_json(_application(), broken, NOW)

    after = status_json(_application(before), REPORT, NOW)

    assert _condition(before, "SyncError") is not None
    assert _condition(after, "SyncError") is None
    assert _condition(after, "Reconciling") is None


@pytest.mark.parametrize(
    ("error", "is_stalled"), [(GitFailed("gone"), False), (RenderFailed("broken"), True)]
)
def test_a_failed_comparison_concludes_nothing_and_keeps_the_inventory(
    error: Exception, *, is_stalled: bool
) -> None:
    application = _application(status_json(_application(), REPORT, NOW))
    assert isinstance(error, GitFailed | RenderFailed)

    report = failure_report(application, error, application.operation)
    status = status_json(application, report, NOW)

    assert status["sync"] == {"status": "Unknown", "revision": "c" * 40}
    assert [resource["name"] for resource in status["resources"]] == ["web"]
    assert status["inventory"]["entries"] == [
        {
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "namespace": "ns",
            "name": "web",
            "uid": "u",
        }
    ]
    assert (_condition(status, "Stalled") is not None) is is_stalled


def _stored(version: str, uid: str = "u") -> Json:
    return {"metadata": {"resourceVersion": version, "uid": uid}}


def test_an_answer_counts_until_the_store_has_caught_up() -> None:
    clock = FakeClock()
    overlay: Overlay[str] = Overlay(clock.monotonic)
    overlay.wrote("a", _stored("10"))

    assert overlay.newest("a", _stored("9")) == _stored("10")
    assert overlay.newest("a", None) == _stored("10")
    clock.shift(6)
    assert overlay.newest("a", None) is None
    assert overlay.newest("a", _stored("11")) == _stored("11")
    assert overlay.newest("a", _stored("9")) == _stored("9")


def test_an_answer_of_another_object_of_the_name_does_not_count() -> None:
    overlay: Overlay[str] = Overlay()
    overlay.wrote("a", _stored("10"))

    assert overlay.newest("a", _stored("5", uid="new")) == _stored("5", uid="new")


async def test_many_things_are_done_a_few_at_a_time_and_all_end_before_an_error() -> None:
    running, most, ended = 0, 0, []

    async def act(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        ended.append(number)
        if number == 3:
            raise ValueError(number)
        return number

    assert await for_each(range(3), act, at_once=2) == [0, 1, 2]
    with pytest.raises(ValueError, match="3"):
        await for_each(range(3, 9), act, at_once=2)

    assert most == 2
    assert sorted(ended) == list(range(9))
