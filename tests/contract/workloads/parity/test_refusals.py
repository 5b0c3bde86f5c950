"""What the API server refuses is told and tried again; a namespace that is going away is not news."""

import pytest
from aiohttp import web

from tests.contract.workloads.world import World
from tests.faults import faults
from tests.faults.proxy import Exchange, FaultProxy, requests
from workloads.names import PODSETS

pytestmark = pytest.mark.contract

POD_CREATIONS = requests(method="POST", part="/pods")
POD_DELETIONS = requests(method="DELETE", part="/pods/")


async def namespace_is_terminating(_: Exchange) -> web.StreamResponse:
    """Answer as the API server does to whoever creates in a namespace that is being deleted."""
    status = {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": "unable to create new content: it is being terminated",
        "details": {"causes": [{"reason": "NamespaceTerminating"}]},
    }
    return web.json_response(status, status=403)


async def test_a_refused_deletion_is_told_and_made_later(
    disturbed: World, proxy: FaultProxy
) -> None:
    await disturbed.podset(2)
    await disturbed.has_pods(2)
    proxy.fail(faults.answer(403, reason="Forbidden"), when=POD_DELETIONS, times=None)
    await disturbed.scale(PODSETS, "web", 1)

    async def is_told() -> None:
        failure = await disturbed.condition(PODSETS, "ReplicaFailure")
        assert failure.get("reason") == "FailedDelete"
        assert await disturbed.events("FailedDelete")

    await disturbed.eventually(is_told)
    assert len(await disturbed.pods()) == 2
    proxy.clear()

    await disturbed.has_pods(1)

    async def is_forgotten() -> None:
        assert await disturbed.condition(PODSETS, "ReplicaFailure") == {}

    await disturbed.eventually(is_forgotten)


async def test_a_namespace_that_is_going_away_is_no_failure(
    disturbed: World, proxy: FaultProxy
) -> None:
    proxy.fail(namespace_is_terminating, when=POD_CREATIONS, times=None)

    await disturbed.podset(2)

    await disturbed.has_status(PODSETS, replicas=0)
    await disturbed.stays(lambda: disturbed.has_pods(0), 0.5)
    assert await disturbed.condition(PODSETS, "ReplicaFailure") == {}
    assert await disturbed.events("FailedCreate") == []
