"""Two electors on one Lease of a real API server, one of them behind a proxy that can be cut."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.errors import LostLeadership
from kube_runtime.lease import LeaderElector
from kube_runtime.resource import CONFIG_MAPS, LEASES, Json, resource_version_of
from tests.faults import faults
from tests.faults.proxy import FaultProxy

pytestmark = pytest.mark.contract

LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 3, 1.5, 0.3


class Candidate:
    """A process that works for as long as it leads."""

    def __init__(self, api: ApiClient, namespace: str, identity: str) -> None:
        self.elector = LeaderElector(
            api,
            name="test",
            namespace=namespace,
            identity=identity,
            lease_seconds=LEASE_SECONDS,
            renew_seconds=RENEW_SECONDS,
            retry_seconds=RETRY_SECONDS,
        )
        self.is_working = False

    async def work(self) -> None:
        self.is_working = True
        try:
            await asyncio.Event().wait()
        finally:
            self.is_working = False

    @property
    def may_write(self) -> bool:
        try:
            self.elector.fence.check()
        except LostLeadership:
            return False
        return True

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.elector.run(self.work))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - whatever may become true
            await asyncio.sleep(0.02)


async def spec_of(api: ApiClient, namespace: str) -> Json:
    spec: Json = (await api.get(LEASES, "test", namespace=namespace))["spec"]
    return spec


async def test_one_leads_and_a_clean_exit_hands_over_at_once(
    api: ApiClient, namespace: str
) -> None:
    one, two = Candidate(api, namespace, "one"), Candidate(api, namespace, "two")

    async with two.running():
        async with one.running():
            await until(lambda: one.is_working or two.is_working)
            first = "one" if one.is_working else "two"
            assert (await spec_of(api, namespace))["holderIdentity"] == first
            assert not (one.is_working and two.is_working)
        await until(lambda: two.is_working, seconds=LEASE_SECONDS - 0.5)

        spec = await spec_of(api, namespace)
        assert spec["holderIdentity"] == "two"
        assert spec["leaseDurationSeconds"] == LEASE_SECONDS

    assert (await spec_of(api, namespace))["holderIdentity"] == ""


async def test_a_leader_that_is_cut_off_stops_writing_before_the_next_one_starts(
    api: ApiClient, proxied: ApiClient, proxy: FaultProxy, namespace: str
) -> None:
    one, two = Candidate(proxied, namespace, "one"), Candidate(api, namespace, "two")
    writers: list[tuple[bool, bool]] = []

    async with one.running():
        await until(lambda: one.is_working)
        async with two.running():
            await asyncio.sleep(1)
            proxy.fail(faults.reset(), when=lambda seen: "leases" in seen.path, times=None)
            started = time.monotonic()
            while not two.is_working and time.monotonic() - started < 10:
                writers.append((one.may_write, two.may_write))
                await asyncio.sleep(0.01)

            assert two.is_working
            assert not one.is_working
            assert writers[0] == (True, False)
            assert (False, False) in writers
            assert (True, True) not in writers
            assert (await spec_of(api, namespace))["leaseTransitions"] == 1


async def test_a_write_of_a_former_leader_is_held_back_and_never_sent(
    proxied: ApiClient, proxy: FaultProxy, namespace: str
) -> None:
    one = Candidate(proxied, namespace, "one")
    proxied.fence = one.elector.fence
    body = {"metadata": {"namespace": namespace, "name": "late"}, "data": {}}

    async with one.running():
        await until(lambda: one.is_working)
        proxy.fail(faults.reset(), when=lambda seen: "leases" in seen.path, times=None)
        await until(lambda: not one.is_working)
        with pytest.raises(LostLeadership, match="expected to hold it before a write"):
            await proxied.create(CONFIG_MAPS, body)

    assert proxy.count(lambda seen: "configmaps" in seen.path) == 0


async def test_a_burst_of_writes_does_not_cost_the_lease(kubeconfig: Path, namespace: str) -> None:
    slow = await ApiClient.connect(
        kubeconfig=str(kubeconfig), user_agent="levelset-tests", qps=5, burst=1
    )
    async with slow:
        one = Candidate(slow, namespace, "one")

        async def write(number: int) -> bool:
            body = {"metadata": {"namespace": namespace, "name": f"m{number}"}, "data": {}}
            await slow.create(CONFIG_MAPS, body)
            return one.is_working

        async with one.running():
            await until(lambda: one.is_working)
            was_leading = await asyncio.gather(*(write(number) for number in range(15)))

        assert all(was_leading)


PROGRAM = """
import asyncio, contextlib, itertools, sys
from kube_runtime.api import ApiClient
from kube_runtime.errors import LostLeadership
from kube_runtime.lease import LeaderElector
from kube_runtime.resource import CONFIG_MAPS

kubeconfig, namespace = sys.argv[1:]
numbers = itertools.count()

async def main():
    async with await ApiClient.connect(kubeconfig=kubeconfig, user_agent="test") as api:
        elector = LeaderElector(
            api, name="test", namespace=namespace, identity="frozen",
            lease_seconds=3, renew_seconds=1.5, retry_seconds=0.3,
        )
        api.fence = elector.fence

        async def work():
            while True:
                name = f"written-{next(numbers)}"
                body = {"metadata": {"namespace": namespace, "name": name}, "data": {}}
                try:
                    await api.create(CONFIG_MAPS, body)
                except LostLeadership:
                    print("held back", flush=True)
                    await asyncio.Event().wait()
                print("written", flush=True)
                with contextlib.suppress(asyncio.CancelledError):  # work that does not listen
                    await asyncio.sleep(0.3)  # frozen here, not between the fence and the wire

        await elector.run(work)

asyncio.run(main())
"""


async def test_a_process_that_was_frozen_writes_nothing_after_it_wakes_up(
    api: ApiClient, kubeconfig: Path, namespace: str
) -> None:
    frozen = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PROGRAM,
        str(kubeconfig),
        namespace,
        stdout=asyncio.subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert frozen.stdout is not None
    try:
        async with asyncio.timeout(30):
            assert await frozen.stdout.readline() == b"written\n"
            frozen.send_signal(signal.SIGSTOP)
            two = Candidate(api, namespace, "two")
            async with two.running():
                await until(lambda: two.is_working)
                takeover = (await api.get(LEASES, "test", namespace=namespace))["metadata"]
                frozen.send_signal(signal.SIGCONT)
                while await frozen.stdout.readline() != b"held back\n":
                    pass
                await asyncio.sleep(0.5)
                written = await api.list(CONFIG_MAPS, namespace=namespace)
    finally:
        frozen.kill()
        await frozen.wait()

    versions = [
        int(resource_version_of(obj))
        for obj in written.items
        if obj["metadata"]["name"].startswith("written-")
    ]
    assert versions
    assert max(versions) < int(takeover["resourceVersion"])
