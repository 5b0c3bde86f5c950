"""Each verb becomes one request, and reads what comes back."""

import orjson
import pytest

from kube_runtime import api_calls
from kube_runtime.api_answers import read_event, read_page
from kube_runtime.api_calls import PatchType, is_mutating
from kube_runtime.errors import BrokenStream, Gone, ServerError
from kube_runtime.resource import NODES, PODS, Json, Key
from kube_runtime.transport import Call

KEY = Key("shop", "web")
POD: Json = {"metadata": {"namespace": "shop", "name": "web"}}


def body_of(call: Call) -> Json:
    body: Json = orjson.loads(call.body or b"null")
    return body


def test_a_create_posts_to_the_collection_of_its_namespace() -> None:
    call = api_calls.create_call(
        PODS, POD, namespace=None, name=None, subresource=None, field_manager="us", dry_run=True
    )

    assert str(call) == "POST /api/v1/namespaces/shop/pods"
    assert call.params == {"fieldManager": "us", "dryRun": "All"}
    assert body_of(call) == POD


def test_a_create_of_a_subresource_posts_to_the_object() -> None:
    call = api_calls.create_call(
        PODS,
        POD,
        namespace=None,
        name=None,
        subresource="eviction",
        field_manager=None,
        dry_run=False,
    )

    assert call.path == "/api/v1/namespaces/shop/pods/web/eviction"
    assert call.params == {}


def test_a_create_may_leave_the_name_to_the_server() -> None:
    body: Json = {"metadata": {"generateName": "web-"}}
    call = api_calls.create_call(
        NODES, body, namespace=None, name=None, subresource=None, field_manager=None, dry_run=False
    )

    assert call.path == "/api/v1/nodes"


def test_a_replace_puts_to_what_the_body_names() -> None:
    call = api_calls.replace_call(
        PODS, POD, subresource="status", field_manager=None, dry_run=False
    )

    assert str(call) == "PUT /api/v1/namespaces/shop/pods/web/status"


@pytest.mark.parametrize("patch_type", PatchType)
def test_force_is_sent_with_an_apply_alone(patch_type: PatchType) -> None:
    call = api_calls.patch_call(
        PODS,
        KEY,
        POD,
        patch_type=patch_type,
        subresource=None,
        field_manager="us",
        force=True,
        dry_run=False,
    )

    assert call.content_type == patch_type.value
    assert ("force" in call.params) == (patch_type is PatchType.APPLY)


def test_a_delete_without_conditions_has_no_preconditions() -> None:
    call = api_calls.delete_call(
        PODS,
        KEY,
        uid=None,
        resource_version=None,
        propagation_policy=None,
        grace_period_seconds=None,
        dry_run=False,
    )

    assert body_of(call) == {"kind": "DeleteOptions", "apiVersion": "v1"}


def test_a_delete_carries_its_conditions() -> None:
    call = api_calls.delete_call(
        PODS,
        KEY,
        uid="u-1",
        resource_version="7",
        propagation_policy="Foreground",
        grace_period_seconds=0,
        dry_run=True,
    )

    assert body_of(call) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "u-1", "resourceVersion": "7"},
        "propagationPolicy": "Foreground",
        "gracePeriodSeconds": 0,
    }
    assert call.params == {"dryRun": "All"}


def test_the_first_page_has_a_version_and_the_next_a_token() -> None:
    def page(token: str) -> Call:
        return api_calls.list_call(
            PODS,
            None,
            label_selector="a=b",
            field_selector=None,
            limit=5,
            resource_version="7",
            continue_token=token,
        )

    assert page("").params == {"labelSelector": "a=b", "limit": "5", "resourceVersion": "7"}
    assert page("t").params == {"labelSelector": "a=b", "limit": "5", "continue": "t"}


def test_a_watch_asks_for_bookmarks() -> None:
    call = api_calls.watch_call(
        PODS,
        "shop",
        resource_version="7",
        label_selector=None,
        field_selector="spec.nodeName=one",
        timeout_seconds=300,
    )

    assert call.params == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "fieldSelector": "spec.nodeName=one",
        "timeoutSeconds": "300",
    }


def test_any_other_call_takes_bytes_as_they_are_and_the_rest_as_json() -> None:
    def raw(body: object, accept: str | None = None) -> Call:
        return api_calls.raw_call(
            "post", "/x", params={"a": "b"}, body=body, content_type="text/plain", accept=accept
        )

    assert raw(b"raw").body == b"raw"
    assert raw({"a": 1}).body == b'{"a":1}'
    assert raw(None).body is None
    assert raw(None, "text/html").headers == (("Accept", "text/html"),)
    assert str(raw(None)) == "POST /x"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (Call("GET", "/api/v1/pods"), False),
        (Call("POST", "/api/v1/pods"), True),
        (Call("POST", "/api/v1/pods", {"dryRun": "All"}), False),
        (Call("DELETE", "/api/v1/pods/x"), True),
        (Call("PATCH", "/apis/apps/v1/deployments/x"), True),
        (Call("PUT", "/api/v1/pods/x"), True),
        (Call("POST", "/apis/authentication.k8s.io/v1/tokenreviews"), False),
        (Call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"), False),
    ],
)
def test_only_what_changes_the_cluster_is_mutating(call: Call, expected: bool) -> None:  # noqa: FBT001
    assert is_mutating(call) is expected


LIST = Call("GET", "/api/v1/pods")


def test_a_page_gives_its_items_their_kind_and_transforms_them() -> None:
    raw: Json = {
        "metadata": {"resourceVersion": "7", "continue": "t"},
        "items": [{"metadata": {"name": "web"}}],
    }

    page = read_page(raw, PODS, lambda obj: {**obj, "seen": True}, LIST)

    assert page.items == [
        {"metadata": {"name": "web"}, "apiVersion": "v1", "kind": "Pod", "seen": True}
    ]
    assert (page.resource_version, page.continue_token) == ("7", "t")


def test_a_page_with_null_items_is_empty() -> None:
    page = read_page({"metadata": {"resourceVersion": "7"}, "items": None}, PODS, None, LIST)

    assert page == ([], "7", "")


@pytest.mark.parametrize("raw", [{}, [], {"items": []}, {"metadata": {}, "items": []}, None])
def test_an_answer_that_is_no_list_says_so(raw: Json) -> None:
    with pytest.raises(BrokenStream, match="expected a list"):
        read_page(raw, PODS, None, LIST)


def test_an_event_is_read() -> None:
    event = read_event(b'{"type":"ADDED","object":{"metadata":{}}}', LIST)

    assert event == ("ADDED", {"metadata": {}})


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"7", b"null", b'{"type":"ADDED"}', b"\xff"])
def test_a_line_that_is_no_event_says_so(line: bytes) -> None:
    with pytest.raises(BrokenStream, match="expected an event"):
        read_event(line, LIST)


def test_an_error_event_is_raised_as_what_it_says() -> None:
    with pytest.raises(Gone) as caught:
        read_event(b'{"type":"ERROR","object":{"code":410,"reason":"Expired"}}', LIST)
    assert caught.value.in_stream

    with pytest.raises(ServerError):
        read_event(b'{"type":"ERROR","object":"text"}', LIST)
