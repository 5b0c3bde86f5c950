"""The state exporter against a real API server and our real CRDs."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from exporters.instrument import Instruments
from exporters.state.kinds import WATCHED_KINDS
from exporters.state.watcher import StateWatcher
from kube_runtime.api import ApiClient
from kube_runtime.clock import FakeClock
from kube_runtime.resource import Json
from local_cluster.control_plane import ControlPlane
from local_cluster.kubectl import Kubectl
from tests.contract.exporters.support import eventually
from tests.faults import faults
from tests.faults.proxy import LISTS, FaultProxy, requests

pytestmark = pytest.mark.contract

CRDS = Path(__file__).parents[3] / "deploy" / "crds"
ROLLOUT = next(kind.resource for kind in WATCHED_KINDS if kind.name == "Rollout")


def _rollout(namespace: str, name: str) -> Json:
    labels = {"app": name}
    return {
        "apiVersion": ROLLOUT.api_version,
        "kind": ROLLOUT.kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "web@sha256:" + "0" * 64}]},
            },
        },
    }


def _watcher(api: ApiClient, instruments: Instruments | None = None) -> StateWatcher:
    return StateWatcher(api, instruments or Instruments("test"), max_series_per_family=10**6)


@asynccontextmanager
async def _running(*services: Callable[[], Coroutine[None, None, None]]) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(service()) for service in services]
    try:
        yield
        assert [task for task in tasks if task.done()] == []
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


def _infos(watcher: StateWatcher, namespace: str) -> set[str]:
    """The names of the objects of a namespace on the page."""
    marker = f'levelset_resource_info{{kind="Rollout",exported_namespace="{namespace}",name="'
    return {
        line.removeprefix(marker).partition('"')[0]
        for line in watcher.page().decode().splitlines()
        if line.startswith(marker)
    }


async def _shows(watcher: StateWatcher, namespace: str, expected: set[str]) -> None:
    async def is_level() -> bool:
        return _infos(watcher, namespace) == expected

    await eventually(is_level, f"{len(expected)} rollouts of {namespace} on the page")


async def test_objects_come_change_and_go(crds: None, api: ApiClient, namespace: str) -> None:
    watcher = _watcher(api)
    async with _running(watcher.run, watcher.lead):
        created = await api.create(ROLLOUT, _rollout(namespace, "web"), namespace=namespace)
        await _shows(watcher, namespace, {"web"})

        created["spec"]["paused"] = True
        await api.replace(ROLLOUT, created)

        async def is_paused() -> bool:
            line = f'kind="Rollout",exported_namespace="{namespace}",name="web"}} 1'
            return f"levelset_resource_suspended{{{line}".encode() in watcher.page()

        await eventually(is_paused, "the paused rollout")
        await api.delete(ROLLOUT, "web", namespace=namespace)
        await _shows(watcher, namespace, set())


async def test_the_series_of_a_hundred_deleted_objects_vanish(
    crds: None, api: ApiClient, namespace: str
) -> None:
    names = {f"web-{number}" for number in range(100)}
    watcher = _watcher(api)
    async with _running(watcher.run, watcher.lead):
        await asyncio.gather(
            *(api.create(ROLLOUT, _rollout(namespace, n), namespace=namespace) for n in names)
        )
        await _shows(watcher, namespace, names)

        await asyncio.gather(*(api.delete(ROLLOUT, n, namespace=namespace) for n in names))
        await _shows(watcher, namespace, set())

    assert namespace.encode() not in watcher.page()


async def test_deletions_that_no_watch_has_seen_vanish_with_the_next_list(
    crds: None, api: ApiClient, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    names = {f"web-{number}" for number in range(20)}
    for name in names:
        await api.create(ROLLOUT, _rollout(namespace, name), namespace=namespace)
    async with FaultProxy.start(kubeconfig, tmp_path) as proxy, await _through(proxy) as proxied:
        watcher = _watcher(proxied)
        async with _running(watcher.run, watcher.lead):
            await _shows(watcher, namespace, names)

            proxy.fail(faults.answer(410, reason="Expired"), when=requests(watch=True), times=10)
            proxy.fail(faults.answer(500), when=LISTS, times=5)
            proxy.cut_watches()
            for name in names:
                await api.delete(ROLLOUT, name, namespace=namespace)

            await _shows(watcher, namespace, set())


async def test_a_page_is_never_half_empty_while_lists_are_repeated(
    crds: None, api: ApiClient, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    names = {f"web-{number}" for number in range(200)}
    await asyncio.gather(
        *(api.create(ROLLOUT, _rollout(namespace, n), namespace=namespace) for n in names)
    )
    async with FaultProxy.start(kubeconfig, tmp_path) as proxy, await _through(proxy) as proxied:
        watcher = _watcher(proxied)
        async with _running(watcher.run, watcher.lead):
            await _shows(watcher, namespace, names)
            lists_before = proxy.count(LISTS)
            expired = faults.error_event(410, reason="Expired")
            proxy.fail(expired, when=requests(part="/rollouts", watch=True), times=3)
            proxy.cut_watches()

            pages = 0
            while proxy.pending or pages < 200:
                assert _infos(watcher, namespace) == names
                pages += 1
                await asyncio.sleep(0.005)

    assert proxy.count(LISTS) > lists_before


async def test_a_standby_shows_nothing_and_a_new_leader_everything_at_once(
    crds: None, api: ApiClient, namespace: str
) -> None:
    await api.create(ROLLOUT, _rollout(namespace, "web"), namespace=namespace)
    watcher = _watcher(api)

    async def is_ready() -> bool:
        return watcher.is_ready

    async with _running(watcher.run):
        await eventually(is_ready, "all kinds to be known")
        assert watcher.page() == b""

        async with _running(watcher.lead):
            await _shows(watcher, namespace, {"web"})
        assert watcher.page() == b""

        async with _running(watcher.lead):
            await _shows(watcher, namespace, {"web"})


async def test_a_missing_crd_is_tolerated_told_once_and_found_when_it_comes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plane = ControlPlane.start(tmp_path / "plane")
    try:
        kubectl = Kubectl(plane.kubeconfig)
        kubectl("create", "namespace", "shop")
        clock, instruments = FakeClock(), Instruments("test")
        api = await ApiClient.connect(kubeconfig=str(plane.kubeconfig), user_agent="levelset-tests")
        async with api:
            watcher = StateWatcher(api, instruments, max_series_per_family=10**6, clock=clock)

            async def is_ready() -> bool:
                return watcher.is_ready

            async def is_found() -> bool:
                await clock.advance(30)
                return _unavailable(instruments) == 0.0

            async with _running(watcher.run, watcher.lead):
                await eventually(is_ready, "all kinds to be known to be missing")
                assert _unavailable(instruments) == 1.0
                for _ in range(3):
                    await clock.advance(30)
                told = [r for r in caplog.records if "until it can be read" in r.message]
                assert len(told) == len(WATCHED_KINDS)

                kubectl("apply", "--server-side", "-f", CRDS / "rollout.yaml")
                await eventually(is_found, "the kind whose CRD has come")
                await api.create(ROLLOUT, _rollout("shop", "web"), namespace="shop")
                await _shows(watcher, "shop", {"web"})
    finally:
        plane.stop()


def _unavailable(instruments: Instruments) -> float | None:
    name = "levelset_exporter_kind_unavailable"
    return instruments.registry.get_sample_value(name, {"kind": "Rollout"})


async def _through(proxy: FaultProxy) -> ApiClient:
    return await ApiClient.connect(
        kubeconfig=str(proxy.kubeconfig), user_agent="levelset-tests", timeout_seconds=5
    )
