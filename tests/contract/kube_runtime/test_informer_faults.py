"""After any fault between it and the API server, an informer's store equals a fresh list."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.errors import AlreadyExists, NotFound, RequestTimeout
from kube_runtime.informer import Informer
from kube_runtime.instrumentation import Instrumentation
from kube_runtime.resource import CONFIG_MAPS, Json, Key, resource_version_of, uid_of
from tests.faults import faults
from tests.faults.proxy import LISTS, WATCHES, Fault, FaultProxy

pytestmark = pytest.mark.contract

DEADLINE_SECONDS = 30


class Ledger:
    """What a handler knows that only ever hears of changes; refuses a story without sense."""

    def __init__(self) -> None:
        self.objects: dict[Key, Json] = {}
        self.nonsense: list[str] = []
        self.deleted: list[Json] = []

    def hear(self, old: Json | None, new: Json | None) -> None:
        key = Key.of(new or old or {})
        known = self.objects.get(key)
        if old is None and known is not None:
            self.nonsense.append(f"{key} was added twice")
        if old is not None and (known is None or uid_of(known) != uid_of(old)):
            self.nonsense.append(f"{key} changed or went, but was not there")
        if new is None:
            self.objects.pop(key, None)
            self.deleted.append(old or {})
        else:
            self.objects[key] = new


class Counts(Instrumentation):
    """Remembers why informers started over."""

    def __init__(self) -> None:
        self.reasons: list[str] = []
        self.lists = 0

    def watch_restarted(self, kind: str, reason: str) -> None:  # noqa: ARG002
        self.reasons.append(reason)

    def list_result(self, kind: str, *, ok: bool) -> None:  # noqa: ARG002
        self.lists += ok


class Followed:
    """An informer at work, with all that heard of it."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self.counts = Counts()
        self.ledger = Ledger()
        self.namespace = namespace
        self.informer = Informer(
            client,
            CONFIG_MAPS,
            namespace=namespace,
            inactivity_seconds=1,
            instrumentation=self.counts,
        )
        self.informer.on_change(self.ledger.hear)

    async def is_level(self, api: ApiClient) -> None:
        """Wait until store and ledger equal a fresh list; fail with what differs."""
        fresh: dict[Key, str] = {}
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                while True:
                    listed = await api.list(CONFIG_MAPS, namespace=self.namespace)
                    fresh = versions(listed.items)
                    if versions(self.informer.store.list()) == fresh:
                        break
                    await asyncio.sleep(0.05)
        except TimeoutError:
            pytest.fail(
                f"store {versions(self.informer.store.list())} is not {fresh}; "
                f"restarts: {self.counts.reasons}"
            )
        assert versions(list(self.ledger.objects.values())) == fresh
        assert self.ledger.nonsense == []


def versions(objects: list[Json]) -> dict[Key, str]:
    return {Key.of(obj): resource_version_of(obj) for obj in objects}


@asynccontextmanager
async def following(client: ApiClient, namespace: str) -> AsyncIterator[Followed]:
    followed = Followed(client, namespace)
    task = asyncio.create_task(followed.informer.run())
    try:
        await followed.informer.wait_synced(DEADLINE_SECONDS)
        yield followed
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(condition: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not condition():  # noqa: ASYNC110 - the proxy announces nothing
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"expected within {DEADLINE_SECONDS} s: {what}")


def config_map(namespace: str, name: str, **data: str) -> Json:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


async def change_everything(api: ApiClient, namespace: str) -> None:
    """Create, change, delete and make anew: 4 objects each."""
    for number in range(4):
        for act in ("stays", "changes", "goes", "returns"):
            await api.create(CONFIG_MAPS, config_map(namespace, f"{act}-{number}"))
    for number in range(4):
        await api.replace(CONFIG_MAPS, config_map(namespace, f"changes-{number}", a="b"))
        await api.delete(CONFIG_MAPS, f"goes-{number}", namespace=namespace)
        await api.delete(CONFIG_MAPS, f"returns-{number}", namespace=namespace)
        await api.create(CONFIG_MAPS, config_map(namespace, f"returns-{number}"))


STREAM_FAULTS = {
    "ended": faults.end_stream(after_lines=5),
    "ended at once": faults.end_stream(),
    "cut": faults.cut_stream(after_lines=5),
    "half a line": faults.half_line(after_lines=5),
    "stalled": faults.stall_stream(after_lines=5),
    "stalled at once": faults.stall_stream(),
    "in pieces": faults.in_pieces(50),
    "410 event": faults.error_event(410, reason="Expired", after_lines=5),
    "500 event": faults.error_event(500, after_lines=5),
    "nonsense": faults.inject(b"nonsense\n", after_lines=5),
    "unknown type": faults.inject(
        b'{"type": "RENAMED", "object": {"metadata": {"name": "x"}}}\n', after_lines=5
    ),
    "answered 410": faults.answer(410, reason="Expired"),
    "answered 429": faults.answer(429, retry_after=1),
    "answered 500": faults.answer(500),
    "answered 401": faults.answer(401),
    "reset": faults.reset(),
    "no answer": faults.silence(),
    "late": faults.delay(0.5),
}


@pytest.mark.parametrize("fault", STREAM_FAULTS.values(), ids=STREAM_FAULTS.keys())
async def test_a_watch_that_fails_leaves_the_store_level(
    proxy: FaultProxy, proxied: ApiClient, api: ApiClient, namespace: str, fault: Fault
) -> None:
    async with following(proxied, namespace) as followed:
        proxy.fail(fault, when=WATCHES)
        proxy.cut_watches()
        await until(lambda: not proxy.pending, "the fault is on its way")

        await change_everything(api, namespace)

        await followed.is_level(api)


@pytest.mark.parametrize(
    "fault",
    [faults.answer(500), faults.answer(429, retry_after=1), faults.reset(), faults.truncate()],
    ids=["500", "429", "reset", "half"],
)
async def test_a_relist_that_fails_is_made_again_and_tells_what_was_missed(
    proxy: FaultProxy, proxied: ApiClient, api: ApiClient, namespace: str, fault: Fault
) -> None:
    await api.create(CONFIG_MAPS, config_map(namespace, "goes", last="words"))
    async with following(proxied, namespace) as followed:
        proxy.fail(faults.stall_stream(), when=WATCHES)
        proxy.cut_watches()
        await until(lambda: not proxy.pending, "the watch is stalled")
        proxy.fail(fault, when=LISTS, times=3)

        await api.delete(CONFIG_MAPS, "goes", namespace=namespace)
        await change_everything(api, namespace)

        await followed.is_level(api)
        last_words = [obj["data"] for obj in followed.ledger.deleted if "data" in obj]
        assert {"last": "words"} in last_words


async def test_a_cut_watch_goes_on_without_a_list(
    proxy: FaultProxy, proxied: ApiClient, api: ApiClient, namespace: str
) -> None:
    async with following(proxied, namespace) as followed:
        for _ in range(3):
            await until(lambda: proxy.open_watches == 1, "a watch is open")
            proxy.cut_watches()
            await until(lambda: proxy.open_watches == 0, "the watch is cut")
        await change_everything(api, namespace)

        await followed.is_level(api)

        assert followed.counts.lists == 1


async def test_a_watch_that_is_refused_for_ever_is_not_asked_in_a_hot_loop(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    async with following(proxied, namespace):
        proxy.fail(faults.end_stream(), when=WATCHES, times=None)
        proxy.cut_watches()
        before = proxy.count(WATCHES)

        await asyncio.sleep(2)

        assert proxy.count(WATCHES) - before <= 8


async def test_an_object_made_anew_while_nobody_looked_is_a_deletion_and_an_addition(
    proxy: FaultProxy, proxied: ApiClient, api: ApiClient, namespace: str
) -> None:
    await api.create(CONFIG_MAPS, config_map(namespace, "twin", number="first"))
    async with following(proxied, namespace) as followed:
        heard: list[tuple[str, str]] = []
        proxy.fail(faults.stall_stream(), when=WATCHES)
        proxy.cut_watches()
        await until(lambda: not proxy.pending, "the watch is stalled")
        followed.informer.on_change(
            lambda old, new: (
                heard.append((data_of(old), data_of(new))) if has_data(old, new) else None
            )
        )
        heard.clear()
        await api.delete(CONFIG_MAPS, "twin", namespace=namespace)
        await api.create(CONFIG_MAPS, config_map(namespace, "twin", number="second"))

        await followed.is_level(api)

        assert heard == [("first", ""), ("", "second")]


def has_data(old: Json | None, new: Json | None) -> bool:
    return bool(data_of(old) or data_of(new))


def data_of(obj: Json | None) -> str:
    return str(((obj or {}).get("data") or {}).get("number", ""))


async def test_a_relist_on_request_holds_what_was_written_before_it(
    proxy: FaultProxy, proxied: ApiClient, api: ApiClient, namespace: str
) -> None:
    async with following(proxied, namespace) as followed:
        proxy.fail(faults.stall_stream(), when=WATCHES, times=None)
        proxy.cut_watches()
        await until(lambda: proxy.open_watches == 1, "the watch is stalled")
        created = await api.create(CONFIG_MAPS, config_map(namespace, "new"))

        await asyncio.gather(followed.informer.relist(), followed.informer.relist())

        assert followed.informer.store.get(Key.of(created)) is not None
        assert followed.counts.lists <= 3


async def test_an_informer_that_cannot_list_says_why(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    proxy.fail(faults.answer(403), when=LISTS, times=None)
    informer = Informer(proxied, CONFIG_MAPS, namespace=namespace)
    task = asyncio.create_task(informer.run())

    with pytest.raises(RequestTimeout, match="403 Forbidden"):
        await informer.wait_synced(1)

    assert not informer.has_synced
    task.cancel()
    await asyncio.wait([task])


async def test_a_storm_of_faults_leaves_the_store_level(
    proxy: FaultProxy, proxied: ApiClient, api: ApiClient, namespace: str
) -> None:
    dice = random.Random(20261130)  # the same storm each time
    async with following(proxied, namespace) as followed:
        for _ in range(12):
            proxy.fail(dice.choice(list(STREAM_FAULTS.values())), when=WATCHES)
            if dice.random() < 0.3:
                proxy.fail(faults.answer(500), when=LISTS)
            proxy.cut_watches()
            await random_changes(api, namespace, dice)
        proxy.clear()

        await followed.is_level(api)


async def random_changes(api: ApiClient, namespace: str, dice: random.Random) -> None:
    for _ in range(15):
        name = f"object-{dice.randrange(12)}"
        try:
            match dice.randrange(3):
                case 0:
                    await api.create(CONFIG_MAPS, config_map(namespace, name))
                case 1:
                    await api.delete(CONFIG_MAPS, name, namespace=namespace)
                case _:
                    stamp = str(dice.random())
                    await api.replace(CONFIG_MAPS, config_map(namespace, name, stamp=stamp))
        except (AlreadyExists, NotFound):
            pass  # the dice do not know what is there
