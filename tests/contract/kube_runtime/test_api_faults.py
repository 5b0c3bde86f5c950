"""The client against a real API server behind a proxy that misbehaves."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.errors import (
    AlreadyExists,
    ApiError,
    BrokenStream,
    Gone,
    RequestTimeout,
    ServerError,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from kube_runtime.resource import CONFIG_MAPS, NAMESPACES, Json
from tests.faults import faults
from tests.faults.proxy import LISTS, WATCHES, WRITES, Fault, FaultProxy, requests

pytestmark = pytest.mark.contract

POSTS = requests(method="POST")


def config_map(namespace: str, name: str = "settings") -> Json:
    return {"metadata": {"name": name, "namespace": namespace}}


async def test_a_throttled_write_waits_as_told_and_is_sent_again(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    proxy.fail(faults.answer(429, retry_after=1), when=POSTS)
    started = time.monotonic()

    await proxied.create(CONFIG_MAPS, config_map(namespace))

    assert time.monotonic() - started >= 1
    assert proxy.count(POSTS) == 2


async def test_a_throttled_write_gives_up_when_the_wait_is_beyond_its_time(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    proxy.fail(faults.answer(429, retry_after=60), when=POSTS, times=None)

    with pytest.raises(TooManyRequests) as caught:
        await proxied.create(CONFIG_MAPS, config_map(namespace))

    assert caught.value.retry_after == 60
    assert proxy.count(POSTS) == 1


async def test_a_429_without_a_wish_is_an_answer_and_not_repeated_for_a_write(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    proxy.fail(faults.answer(429), when=POSTS)

    with pytest.raises(TooManyRequests):
        await proxied.create(CONFIG_MAPS, config_map(namespace))

    assert proxy.count(POSTS) == 1


@pytest.mark.parametrize("code", [500, 502, 503, 504])
async def test_a_read_is_repeated_after_a_server_error(
    proxy: FaultProxy, proxied: ApiClient, namespace: str, code: int
) -> None:
    proxy.fail(faults.answer(code), when=LISTS, times=2)

    await proxied.list(CONFIG_MAPS, namespace=namespace)

    assert proxy.count(LISTS) == 3


async def test_a_read_is_not_repeated_for_ever(proxy: FaultProxy, proxied: ApiClient) -> None:
    proxy.fail(faults.answer(500), when=LISTS, times=None)

    with pytest.raises(ServerError):
        await proxied.get(NAMESPACES, "default")

    assert 2 <= proxy.count(LISTS) <= 6


async def test_a_write_is_not_repeated_after_a_server_error(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    proxy.fail(faults.answer(500), when=WRITES)

    with pytest.raises(ServerError):
        await proxied.create(CONFIG_MAPS, config_map(namespace))

    assert proxy.count(WRITES) == 1


@pytest.mark.parametrize("fault", [faults.reset(), faults.truncate()], ids=["reset", "half"])
async def test_a_read_is_repeated_after_a_broken_connection(
    proxy: FaultProxy, proxied: ApiClient, fault: Fault
) -> None:
    proxy.fail(fault, when=LISTS)

    namespace = await proxied.get(NAMESPACES, "default")

    assert namespace["kind"] == "Namespace"


async def test_a_write_whose_answer_is_lost_is_not_sent_twice(
    proxy: FaultProxy, proxied: ApiClient, api: ApiClient, namespace: str
) -> None:
    proxy.fail(faults.lose_answer(), when=POSTS)

    with pytest.raises(Unreachable):
        await proxied.create(CONFIG_MAPS, config_map(namespace))

    assert proxy.count(POSTS) == 1
    assert (await api.get(CONFIG_MAPS, "settings", namespace=namespace))["kind"] == "ConfigMap"
    with pytest.raises(AlreadyExists):  # with a name of our own, a repeat is safe
        await proxied.create(CONFIG_MAPS, config_map(namespace))


async def test_a_write_without_an_answer_times_out_and_is_not_sent_twice(
    proxy: FaultProxy, namespace: str
) -> None:
    proxy.fail(faults.silence(), when=POSTS)
    client = await ApiClient.connect(
        kubeconfig=str(proxy.kubeconfig), user_agent="levelset-tests", timeout_seconds=0.5
    )

    async with client:
        with pytest.raises(RequestTimeout, match="expected an answer in time"):
            await client.create(CONFIG_MAPS, config_map(namespace))

    assert proxy.count(POSTS) == 1


async def test_a_delayed_answer_is_waited_for(proxy: FaultProxy, proxied: ApiClient) -> None:
    proxy.fail(faults.delay(0.5), when=LISTS)

    assert (await proxied.get(NAMESPACES, "default"))["kind"] == "Namespace"


async def test_an_answer_that_is_no_status_is_still_an_error_with_its_text(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    page = "<html><body>\n  Bad Gateway  \n</body></html>"
    proxy.fail(faults.answer(502, text=page), when=POSTS)

    with pytest.raises(ServerError, match="Bad Gateway"):
        await proxied.create(CONFIG_MAPS, config_map(namespace))


async def test_an_answer_that_is_no_json_says_so(proxy: FaultProxy, proxied: ApiClient) -> None:
    proxy.fail(faults.answer(200, text="hello"), when=LISTS)

    with pytest.raises(BrokenStream, match="expected JSON"):
        await proxied.get(NAMESPACES, "default")


async def test_a_redirect_is_an_error_and_not_followed(
    proxy: FaultProxy, proxied: ApiClient
) -> None:
    proxy.fail(faults.answer(302), when=LISTS)

    with pytest.raises(ApiError) as caught:
        await proxied.get(NAMESPACES, "default")

    assert caught.value.status == 302


async def test_a_continue_token_that_expired_leads_to_one_whole_list(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    names = [f"page-{number}" for number in range(4)]
    for name in names:
        await proxied.create(CONFIG_MAPS, config_map(namespace, name))
    proxy.fail(
        faults.answer(410, reason="Expired"), when=lambda seen: "continue" in seen.query, times=1
    )

    listed = await proxied.list(CONFIG_MAPS, namespace=namespace, limit=2)

    found = [item["metadata"]["name"] for item in listed.items]
    assert sorted(set(found) - {"kube-root-ca.crt"}) == names
    assert len(found) == len(set(found))


async def test_an_unauthorized_request_is_sent_once_more_with_fresh_credentials(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    proxy.fail(faults.answer(401), when=POSTS)

    await proxied.create(CONFIG_MAPS, config_map(namespace))

    assert proxy.count(POSTS) == 2


async def test_a_request_that_stays_unauthorized_ends_after_the_second_try(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    proxy.fail(faults.answer(401), when=POSTS, times=None)

    with pytest.raises(Unauthorized):
        await proxied.create(CONFIG_MAPS, config_map(namespace))

    assert proxy.count(POSTS) == 2


async def watched(
    client: ApiClient, namespace: str, version: str, *, inactivity_seconds: float = 5
) -> AsyncIterator[str]:
    async for event in client.watch(
        CONFIG_MAPS,
        namespace=namespace,
        resource_version=version,
        timeout_seconds=2,
        inactivity_seconds=inactivity_seconds,
    ):
        if event.type != "BOOKMARK":
            yield event.object["metadata"]["name"]


async def changes(api: ApiClient, namespace: str) -> str:
    """Make three objects; return the version before them."""
    version = (await api.list(CONFIG_MAPS, namespace=namespace)).resource_version
    for number in range(3):
        body = config_map(namespace, f"made-{number}")
        await api.create(CONFIG_MAPS, {**body, "data": {"text": "ä€😀" * 2000}})
    return version


async def test_a_watch_in_pieces_that_end_anywhere_is_put_together(
    proxy: FaultProxy, proxied: ApiClient, namespace: str
) -> None:
    version = await changes(proxied, namespace)
    proxy.fail(faults.in_pieces(1000), when=WATCHES)

    seen = [name async for name in watched(proxied, namespace, version)]

    assert seen == ["made-0", "made-1", "made-2"]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (faults.half_line(after_lines=1), BrokenStream),
        (faults.cut_stream(after_lines=1), Unreachable),
        (faults.stall_stream(after_lines=1), RequestTimeout),
        (faults.error_event(410, reason="Expired", after_lines=1), Gone),
        (faults.error_event(500, after_lines=1), ServerError),
        (faults.inject(b"{nonsense\n", after_lines=1), BrokenStream),
        (faults.inject(b'{"type": "ADDED"}\n', after_lines=1), BrokenStream),
        (faults.inject(b"[]\n", after_lines=1), BrokenStream),
    ],
    ids=["half", "cut", "stall", "410", "500", "nonsense", "no object", "no event"],
)
async def test_a_broken_watch_delivers_whole_events_and_then_its_error(
    proxy: FaultProxy,
    proxied: ApiClient,
    namespace: str,
    fault: Fault,
    error: type[Exception],
) -> None:
    version = await changes(proxied, namespace)
    proxy.fail(fault, when=WATCHES)
    seen: list[str] = []

    async def follow() -> None:
        async for name in watched(proxied, namespace, version, inactivity_seconds=0.5):
            seen.append(name)  # noqa: PERF401 - what came before the error counts

    with pytest.raises(error):
        await follow()

    assert seen == ["made-0"]


async def test_a_closed_port_is_named_with_the_file_that_leads_there(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "current-context: c\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: c, context: {cluster: c}}]\n"
    )
    client = await ApiClient.connect(
        kubeconfig=str(kubeconfig), user_agent="levelset-tests", timeout_seconds=1
    )

    async with client:
        with pytest.raises(Unreachable) as caught:
            await client.create(NAMESPACES, {"metadata": {"name": "x"}})

    message = caught.value.diagnostics()
    assert "http://127.0.0.1:1" in message
    assert str(kubeconfig) in message
    assert "expected a connection" in message


async def test_what_is_cancelled_leaves_the_client_usable(
    proxy: FaultProxy, proxied: ApiClient
) -> None:
    proxy.fail(faults.silence(), when=LISTS)
    task = asyncio.create_task(proxied.get(NAMESPACES, "default"))
    await asyncio.sleep(0.2)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert (await proxied.get(NAMESPACES, "default"))["kind"] == "Namespace"
