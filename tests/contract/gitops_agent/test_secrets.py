"""No secret value is ever seen: not in logs, events, status, diffs or errors."""

import base64
import logging

import pytest

from gitops_agent.agent import Agent
from kube_runtime.api import PatchType
from kube_runtime.resource import EVENTS, SECRETS
from levelset.app.comparing import differences
from tests.contract.gitops_agent.conftest import Repository, Scene, condition

pytestmark = pytest.mark.contract

VALUE = "correct-horse-battery-staple"
CODED = base64.b64encode(VALUE.encode()).decode()


def _secret(**data: object) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "database"},
        "stringData": data,
    }


async def _everything_seen(scene: Scene, caplog: pytest.LogCaptureFixture) -> str:
    events = await scene.api.list(EVENTS, namespace=scene.namespace)
    records = [f"{record.getMessage()} {record.__dict__}" for record in caplog.records]
    return f"{await scene.get()} {events.items} {records}"


async def test_a_secret_is_applied_and_shown_nowhere(
    agent: Agent, scene: Scene, repository: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    first = await repository.push({"a.yaml": _secret(password="before-" + VALUE)})
    await scene.application(automated={"selfHeal": False})
    await scene.until_synced(first)
    patch = {"stringData": {"password": "by-hand-" + VALUE}}
    await scene.api.patch(
        SECRETS, "database", patch, namespace=scene.namespace, type=PatchType.MERGE
    )
    await scene.until(lambda s: s["sync"]["status"] == "OutOfSync")

    diffs = await differences(scene.api, await scene.get(), revision=None, kustomize=None)

    assert [diff.paths for diff in diffs] == [(".data.password",)]
    printed = "".join(diff.text for diff in diffs) + await _everything_seen(scene, caplog)
    assert "(secret, " in printed
    assert VALUE not in printed
    assert CODED[:20] not in printed
    assert scene.repository.token not in printed

    second = await repository.push({"a.yaml": _secret(password=VALUE)})
    await scene.until_synced(second)
    found = await scene.api.get(SECRETS, "database", namespace=scene.namespace)
    assert found["data"] == {"password": CODED}


async def test_a_secret_that_is_refused_is_not_shown_by_the_refusal(
    agent: Agent, scene: Scene, repository: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await repository.push({"a.yaml": _secret(**{f"not a key {VALUE}": VALUE})})
    await scene.application()

    status = await scene.until(lambda s: condition(s, "SyncError"))

    assert "Invalid value" in condition(status, "SyncError")["message"]
    assert VALUE not in await _everything_seen(scene, caplog)


async def test_a_secret_with_a_number_is_refused_without_the_number(
    agent: Agent, scene: Scene, repository: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await repository.push({"a.yaml": _secret(pin=918273645)})
    await scene.application()

    status = await scene.until(lambda s: condition(s, "ComparisonError"))

    assert "stringData" in condition(status, "ComparisonError")["message"]
    assert "918273645" not in await _everything_seen(scene, caplog)


async def test_wrong_credentials_are_refused_and_not_shown(
    agent: Agent, scene: Scene, repository: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await repository.push({"a.yaml": _secret(a="b")})
    await scene.credentials(password=VALUE)

    await scene.application()
    status = await scene.until(lambda s: condition(s, "ComparisonError"))

    assert condition(status, "ComparisonError")["reason"] == "AuthenticationFailed"
    assert VALUE not in await _everything_seen(scene, caplog)
