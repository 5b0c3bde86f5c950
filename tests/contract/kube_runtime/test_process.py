"""The process shell with a real Kopf on a real API server, in this loop and as a process."""

import asyncio
import dataclasses
import os
import secrets
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import kopf
import pytest

from kube_runtime.api import ApiClient
from kube_runtime.errors import Unreachable
from kube_runtime.process import ProcessSettings, run_process
from kube_runtime.required_crds import MissingCrd
from kube_runtime.resource import CONFIG_MAPS, EVENTS, LEASES, Json, Resource
from tests.faults import faults
from tests.faults.proxy import FaultProxy, requests

pytestmark = pytest.mark.contract

Service = Callable[[], Coroutine[Any, Any, None]]


async def forever() -> None:
    await asyncio.Event().wait()


class Shell:
    """One run of the process shell, which watches ConfigMaps."""

    def __init__(self, api: ApiClient, kubeconfig: Path, namespace: str) -> None:
        self.api = api
        self.namespace = namespace
        self.settings = ProcessSettings(
            name="levelset-test",
            kubeconfig=str(kubeconfig),
            namespace=namespace,
            lease_seconds=4,
            renew_seconds=2,
            retry_seconds=0.3,
            stop_seconds=12,
        )
        self.stop = asyncio.Event()
        self.seen: list[str] = []
        self.order: list[str] = []
        self.is_ready = True

    def register(self, registry: kopf.OperatorRegistry) -> None:
        @kopf.on.event("configmaps", registry=registry)
        async def wake_up(name: str, **_: object) -> None:
            self.seen.append(name)

    def service(self, name: str) -> Service:
        async def run() -> None:
            self.order.append(f"{name} starts")
            try:
                await forever()
            finally:
                self.order.append(f"{name} stops")

        return run

    async def run(
        self,
        *,
        always: list[Service] | None = None,
        leading: list[Service] | None = None,
        required_kinds: list[Resource] | None = None,
    ) -> int:
        return await run_process(
            self.settings,
            api=self.api,
            register=self.register,
            always=[self.service("always")] if always is None else always,
            leading=[self.service("leading")] if leading is None else leading,
            ready=lambda: self.is_ready,
            required_kinds=required_kinds or [],
            namespaces=[self.namespace],
            stop=self.stop,
        )

    async def holder(self) -> str:
        lease = await self.api.get(LEASES, "levelset-test", namespace=self.namespace)
        holder: str = lease["spec"]["holderIdentity"]
        return holder


@pytest.fixture
def shell(api: ApiClient, kubeconfig: Path, namespace: str) -> Shell:
    return Shell(api, kubeconfig, namespace)


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - whatever may become true
            await asyncio.sleep(0.05)


def config_map(namespace: str, name: str) -> Json:
    return {"metadata": {"namespace": namespace, "name": name}, "data": {}}


async def test_kopf_wakes_us_up_and_leaves_no_trace_on_the_object(
    shell: Shell, api: ApiClient, namespace: str
) -> None:
    task = asyncio.create_task(shell.run())
    await until(lambda: "leading starts" in shell.order)

    created = await api.create(CONFIG_MAPS, config_map(namespace, "mine"))
    await until(lambda: "mine" in shell.seen)
    shell.stop.set()

    assert await asyncio.wait_for(task, 30) == 0
    live = await api.get(CONFIG_MAPS, "mine", namespace=namespace)
    assert live == created
    assert (await api.list(EVENTS, namespace=namespace)).items == []


async def test_kopf_logs_in_again_after_a_401(
    shell: Shell, api: ApiClient, proxy: FaultProxy, namespace: str
) -> None:
    watches = requests(part="configmaps", watch=True)
    shell.settings = dataclasses.replace(shell.settings, kubeconfig=str(proxy.kubeconfig))
    proxy.fail(faults.answer(401), when=watches)
    task = asyncio.create_task(shell.run())
    await until(lambda: proxy.count(watches) >= 2)

    await api.create(CONFIG_MAPS, config_map(namespace, "mine"))
    await until(lambda: "mine" in shell.seen)
    shell.stop.set()

    assert await asyncio.wait_for(task, 30) == 0


async def test_a_kopf_that_dies_ends_the_process(
    shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    task = asyncio.create_task(shell.run())
    await until(lambda: "leading starts" in shell.order)

    [observer] = [t for t in asyncio.all_tasks() if t.get_name() == "multidimensional multitasker"]
    observer.cancel()

    assert await asyncio.wait_for(task, 20) == 1
    assert "kopf ended" in [record.getMessage() for record in caplog.records]
    assert shell.order[-2:] == ["leading stops", "always stops"]


async def test_the_stop_has_an_order_and_gives_the_lease_back(shell: Shell) -> None:
    before = asyncio.all_tasks()
    task = asyncio.create_task(shell.run())
    await until(lambda: "leading starts" in shell.order)
    held_by = await shell.holder()

    shell.stop.set()

    assert await asyncio.wait_for(task, 30) == 0
    assert shell.order == ["always starts", "leading starts", "leading stops", "always stops"]
    assert held_by
    assert await shell.holder() == ""
    assert asyncio.all_tasks() - before - {task} == set()


async def test_nobody_takes_the_lease_before_it_is_ready(shell: Shell) -> None:
    shell.is_ready = False
    task = asyncio.create_task(shell.run())
    await until(lambda: bool(shell.order))
    await asyncio.sleep(0.5)
    early = list(shell.order)

    shell.is_ready = True
    await until(lambda: "leading starts" in shell.order)
    shell.stop.set()

    assert await asyncio.wait_for(task, 30) == 0
    assert early == ["always starts"]


async def test_a_service_that_dies_ends_the_process_with_one_line(
    shell: Shell, caplog: pytest.LogCaptureFixture
) -> None:
    async def dying() -> None:
        await until(lambda: "leading starts" in shell.order)
        raise Unreachable("port 8443: expected it to be free, found it taken")

    code = await asyncio.wait_for(shell.run(always=[dying]), 30)

    [record] = [r for r in caplog.records if r.getMessage() == "service ended"]
    assert code == 1
    assert record.exc_info is None
    assert "found it taken" in record.levelset_fields["error"]  # type: ignore[attr-defined]  # set by logs.fields
    assert "leading stops" in shell.order
    assert await shell.holder() == ""


async def test_a_controller_that_dies_ends_the_process_too(shell: Shell) -> None:
    async def dying() -> None:
        raise KeyError("spec")

    assert await asyncio.wait_for(shell.run(leading=[dying]), 30) == 1
    assert await shell.holder() == ""


async def test_without_election_it_leads_at_once_and_makes_no_lease(
    shell: Shell, api: ApiClient, namespace: str
) -> None:
    shell.settings = ProcessSettings(
        kubeconfig=shell.settings.kubeconfig, leader_elect=False, stop_seconds=40
    )
    task = asyncio.create_task(shell.run())
    await until(lambda: "leading starts" in shell.order)
    shell.stop.set()

    assert await asyncio.wait_for(task, 30) == 0
    assert api.fence is None
    assert (await api.list(LEASES, namespace=namespace)).items == []


async def test_a_missing_crd_is_said_before_anything_starts(shell: Shell) -> None:
    missing = Resource(f"g{secrets.token_hex(4)}.example", "v1", "things", "Thing")

    with pytest.raises(MissingCrd):
        await shell.run(required_kinds=[missing])

    assert shell.order == []


PROGRAM = """
import asyncio, sys
import kopf
from kube_runtime.api import ApiClient
from kube_runtime.process import ProcessSettings, run_main, run_process

kubeconfig, namespace = sys.argv[1:]
settings = ProcessSettings(name="levelset-test", kubeconfig=kubeconfig, namespace=namespace)

async def work():
    print("leading", flush=True)
    await asyncio.Event().wait()

def register(registry):
    @kopf.on.event("configmaps", registry=registry)
    async def wake_up(**_): ...

async def main():
    async with await ApiClient.connect(kubeconfig=kubeconfig, user_agent="test") as api:
        return await run_process(
            settings, api=api, register=register, always=[lambda: asyncio.Event().wait()],
            leading=[work], ready=lambda: True, namespaces=[namespace],
        )

sys.exit(run_main(settings, main))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_process_in_order_with_code_0(
    number: signal.Signals, api: ApiClient, kubeconfig: Path, namespace: str
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        str(kubeconfig),
        namespace,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 30)
        process.send_signal(number)
        _, errors = await asyncio.wait_for(process.communicate(), 30)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()

    text = errors.decode()
    assert (line, process.returncode) == (b"leading\n", 0), text
    assert "Traceback" not in text
    assert "kopf" not in text
    lease = await api.get(LEASES, "levelset-test", namespace=namespace)
    assert lease["spec"]["holderIdentity"] == ""
