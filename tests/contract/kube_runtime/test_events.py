"""The recorder against a real API server: its validation, kubectl's view, a namespace that goes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.events import EventRecorder
from kube_runtime.instrumentation import Instrumentation
from kube_runtime.resource import CONFIG_MAPS, EVENTS, NAMESPACES, Json
from local_cluster.kubectl import Kubectl
from tests.faults import faults
from tests.faults.proxy import FaultProxy, requests

pytestmark = pytest.mark.contract


class Dropped(Instrumentation):
    def __init__(self) -> None:
        self.count = 0

    def event_dropped(self) -> None:
        self.count += 1


@asynccontextmanager
async def running(recorder: EventRecorder) -> AsyncIterator[None]:
    """Run the recorder; at the end it writes what is left."""
    task = asyncio.create_task(recorder.run())
    await asyncio.sleep(0)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.fixture
async def subject(api: ApiClient, namespace: str) -> Json:
    body = {"metadata": {"namespace": namespace, "name": "subject"}, "data": {}}
    return await api.create(CONFIG_MAPS, body)


async def test_kubectl_describe_shows_an_event_and_how_often_it_came(
    api: ApiClient, namespace: str, subject: Json, kubectl: Kubectl
) -> None:
    dropped = Dropped()
    recorder = EventRecorder(api, "levelset-tests", instrumentation=dropped)

    async with running(recorder):
        for _ in range(3):
            recorder.event(
                subject, CONFIG_MAPS, type="Warning", reason="Broken", message="it is broken"
            )

    [event] = (await api.list(EVENTS, namespace=namespace)).items
    text = kubectl("describe", "configmap", "subject", "-n", namespace).stdout
    assert event["series"]["count"] == 3
    assert event["regarding"]["uid"] == subject["metadata"]["uid"]
    assert dropped.count == 0
    assert "Warning" in text
    assert "it is broken" in text
    assert "levelset-tests" in text


async def test_an_event_of_a_cluster_wide_object_is_accepted(
    api: ApiClient, namespace: str
) -> None:
    dropped = Dropped()
    recorder = EventRecorder(api, "levelset-tests", instrumentation=dropped)
    obj = await api.get(NAMESPACES, namespace)

    async with running(recorder):
        recorder.event(obj, NAMESPACES, reason="Seen", message="x" * 3000)

    found = await api.list(
        EVENTS, namespace="default", field_selector=f"regarding.name={namespace}"
    )
    assert dropped.count == 0
    assert [event["reason"] for event in found.items] == ["Seen"]


async def test_a_lost_answer_makes_no_second_event(
    api: ApiClient, proxied: ApiClient, proxy: FaultProxy, namespace: str, subject: Json
) -> None:
    recorder = EventRecorder(proxied, "levelset-tests", flush_seconds=10)
    proxy.fail(faults.lose_answer(), when=requests(method="POST", part="events"))

    async with running(recorder):
        recorder.event(subject, CONFIG_MAPS, reason="Seen", message="once")

    assert proxy.count(requests(method="POST", part="events")) == 2
    assert len((await api.list(EVENTS, namespace=namespace)).items) == 1


async def test_a_namespace_that_is_gone_costs_the_event_and_nothing_else(
    api: ApiClient, namespace: str, subject: Json
) -> None:
    dropped = Dropped()
    recorder = EventRecorder(api, "levelset-tests", instrumentation=dropped)
    elsewhere = {"metadata": {**subject["metadata"], "namespace": "never-was", "uid": "u"}}

    async with running(recorder):
        recorder.event(elsewhere, CONFIG_MAPS, reason="Seen", message="lost")
        recorder.event(subject, CONFIG_MAPS, reason="Seen", message="kept")

    assert dropped.count == 1
    assert len((await api.list(EVENTS, namespace=namespace)).items) == 1
