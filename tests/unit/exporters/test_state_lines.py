"""How one custom resource reads as metrics."""

from typing import Any

import pytest

from exporters.catalogue.state import OBJECT_METRICS
from exporters.state.kinds import WATCHED_KINDS, WatchedKind
from kube_runtime.resource import Json

KINDS = {kind.name: kind for kind in WATCHED_KINDS}


def _object(**parts: Any) -> Json:
    metadata = {
        "namespace": "shop",
        "name": "web",
        "uid": "u-1",
        "generation": 3,
        "creationTimestamp": "2026-11-30T12:00:00Z",
    }
    return {"metadata": metadata | parts.pop("metadata", {}), **parts}


def _lines(kind: str, obj: Json) -> dict[str, float]:
    """Render and take apart: everything before the value, to the value."""
    lines = [line for family in KINDS[kind].render(obj).values() for line in family]
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}


IDENTITY = 'kind="Rollout",exported_namespace="shop",name="web"'


def test_an_object_without_a_status_shows_what_is_known_and_guesses_nothing() -> None:
    lines = _lines("Rollout", _object())

    assert lines == {
        f'levelset_resource_info{{{IDENTITY},version="v1alpha1"}}': 1,
        f"levelset_resource_metadata_generation{{{IDENTITY}}}": 3,
        f"levelset_resource_created_timestamp_seconds{{{IDENTITY}}}": 1796040000,
        f"levelset_resource_suspended{{{IDENTITY}}}": 0,
        f'levelset_resource_status_replicas{{{IDENTITY},state="desired"}}': 1,
    }


def test_a_condition_is_one_for_its_status_and_zero_for_the_others() -> None:
    conditions = [{"type": "Ready", "status": "False"}]

    lines = _lines("Rollout", _object(status={"conditions": conditions}))

    name = f'levelset_resource_status_condition{{{IDENTITY},condition="Ready",status='
    assert lines[f'{name}"true"}}'] == 0
    assert lines[f'{name}"false"}}'] == 1
    assert lines[f'{name}"unknown"}}'] == 0


def test_a_status_that_is_none_of_the_three_is_unknown() -> None:
    conditions = [{"type": "Ready", "status": "Perhaps"}]

    lines = _lines("Rollout", _object(status={"conditions": conditions}))

    name = f'levelset_resource_status_condition{{{IDENTITY},condition="Ready",status="unknown"}}'
    assert lines[name] == 1


def test_a_condition_off_the_allow_list_makes_no_series() -> None:
    conditions = [{"type": f"Custom{number}", "status": "True"} for number in range(50)]

    lines = _lines("Rollout", _object(status={"conditions": conditions}))

    assert not any("status_condition" in line for line in lines)


def test_a_condition_that_is_listed_twice_makes_one_set_of_series() -> None:
    conditions = [{"type": "Ready", "status": "False"}, {"type": "Ready", "status": "True"}]

    rendered = KINDS["Rollout"].render(_object(status={"conditions": conditions}))

    assert len(rendered["levelset_resource_status_condition"]) == 3


def test_the_generations_tell_whether_the_controller_has_seen_the_spec() -> None:
    lines = _lines("Rollout", _object(status={"observedGeneration": 2}))

    assert lines[f"levelset_resource_metadata_generation{{{IDENTITY}}}"] == 3
    assert lines[f"levelset_resource_status_observed_generation{{{IDENTITY}}}"] == 2


def test_a_deletion_shows_since_when() -> None:
    obj = _object(metadata={"deletionTimestamp": "2026-11-30T12:00:30Z"})

    lines = _lines("Rollout", obj)

    assert lines[f"levelset_resource_deletion_timestamp_seconds{{{IDENTITY}}}"] == 1796040030


def test_a_paused_rollout_is_suspended() -> None:
    lines = _lines("Rollout", _object(spec={"paused": True, "replicas": 4}))

    assert lines[f"levelset_resource_suspended{{{IDENTITY}}}"] == 1
    assert lines[f'levelset_resource_status_replicas{{{IDENTITY},state="desired"}}'] == 4


def test_every_count_of_pods_has_a_state() -> None:
    status = {
        "replicas": 5,
        "updatedReplicas": 4,
        "readyReplicas": 3,
        "availableReplicas": 2,
        "terminatingReplicas": 1,
    }

    lines = _lines("Rollout", _object(spec={"replicas": 6}, status=status))

    prefix = f"levelset_resource_status_replicas{{{IDENTITY},state="
    counts = {
        line.removeprefix(prefix).strip('"}'): value
        for line, value in lines.items()
        if line.startswith(prefix)
    }
    assert counts == {
        "desired": 6,
        "current": 5,
        "updated": 4,
        "ready": 3,
        "available": 2,
        "terminating": 1,
    }


def test_an_application_shows_its_project_sync_and_health() -> None:
    status = {
        "sync": {"status": "Synced"},
        "health": {"status": "Healthy"},
        "operationState": {"finishedAt": "2026-11-30T12:00:30Z"},
        "resources": [{"status": "Synced"}, {"status": "OutOfSync"}, {"status": "OutOfSync"}],
    }

    lines = _lines("Application", _object(spec={"project": "shop"}, status=status))

    info = 'exported_namespace="shop",name="web",project="shop",sync_status="Synced"'
    assert lines[f'levelset_app_info{{{info},health_status="Healthy"}}'] == 1
    app = 'exported_namespace="shop",name="web"'
    assert lines[f"levelset_app_drifted_resources{{{app}}}"] == 2
    last_sync = 'levelset_app_last_sync_timestamp_seconds{exported_namespace="shop",name="web"}'
    assert lines[last_sync] == 1796040030


def test_a_cluster_scoped_object_has_an_empty_namespace() -> None:
    obj = {"metadata": {"name": "signed", "uid": "u"}}

    lines = _lines("ClusterImagePolicy", obj)

    assert any('exported_namespace="",name="signed"' in line for line in lines)


@pytest.mark.parametrize("kind", WATCHED_KINDS, ids=lambda kind: kind.name)
def test_every_family_that_a_kind_renders_is_a_state_family_of_the_catalogue(
    kind: WatchedKind,
) -> None:
    rendered = kind.render(_object(spec={}, status={}))

    assert set(rendered) <= {metric.name for metric in OBJECT_METRICS}


@pytest.mark.parametrize("kind", WATCHED_KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("wrong", [None, "text", 7, [], {"replicas": "many", "paused": "yes"}])
def test_a_spec_or_status_of_another_type_yields_fewer_lines_and_no_error(
    kind: WatchedKind, wrong: object
) -> None:
    rendered = kind.render(_object(spec=wrong, status=wrong))

    assert rendered["levelset_resource_info"]
