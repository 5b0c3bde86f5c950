"""Which class an answer becomes, and what it tells."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime import errors


def status(code: int, reason: str = "", **more: object) -> bytes:
    return orjson.dumps({"kind": "Status", "code": code, "reason": reason, "message": "m", **more})


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (400, "BadRequest", errors.BadRequest),
        (401, "Unauthorized", errors.Unauthorized),
        (403, "Forbidden", errors.Forbidden),
        (404, "NotFound", errors.NotFound),
        (409, "Conflict", errors.Conflict),
        (409, "AlreadyExists", errors.AlreadyExists),
        (410, "Expired", errors.Gone),
        (410, "Gone", errors.Gone),
        (422, "Invalid", errors.Invalid),
        (429, "TooManyRequests", errors.TooManyRequests),
        (500, "InternalError", errors.ServerError),
        (503, "ServiceUnavailable", errors.ServerError),
        (504, "Timeout", errors.ServerError),
        (418, "Teapot", errors.ApiError),
    ],
)
def test_status_and_reason_choose_the_class(
    code: int, reason: str, expected: type[errors.ApiError]
) -> None:
    error = errors.error_from_response(code, status(code, reason), request="GET /x")

    assert type(error) is expected
    assert error.reason == reason
    assert error.diagnostics() == f"GET /x: {code} {reason}: m"


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>\n  no </html>", b"[1]", b'"text"', b'{"kind": "Pod"}', b"\xff\xfe", b"{" * 5000],
)
def test_a_body_that_is_no_status_still_becomes_an_error_with_a_short_text(body: bytes) -> None:
    error = errors.error_from_response(502, body)

    assert type(error) is errors.ServerError
    assert error.reason == "Unknown"
    assert len(error.message) <= 1000
    assert "\n" not in error.message
    assert error.message


@given(st.integers(300, 599), st.binary(max_size=200))
def test_no_answer_whatsoever_breaks_the_reading(code: int, body: bytes) -> None:
    assert errors.error_from_response(code, body).status == code


@given(
    st.integers(300, 599),
    st.dictionaries(
        st.sampled_from(["code", "reason", "message", "details"]),
        st.none() | st.booleans() | st.integers(-9, 999) | st.text() | st.lists(st.none()),
    ),
)
def test_no_status_whatsoever_breaks_the_reading(code: int, fields: dict[str, object]) -> None:
    body = orjson.dumps({"kind": "Status", **fields})

    assert errors.error_from_response(code, body).status == code


def test_the_default_reason_is_that_of_the_code() -> None:
    assert errors.error_from_response(503, b"upstream").reason == "ServiceUnavailable"


@pytest.mark.parametrize(
    ("header", "details", "expected"),
    [
        ("5", None, 5.0),
        (" 5 ", None, 5.0),
        (None, {"retryAfterSeconds": 7}, 7.0),
        ("5", {"retryAfterSeconds": 7}, 5.0),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None, None),
        ("-1", None, None),
        (None, {"retryAfterSeconds": 0}, None),
        (None, {"retryAfterSeconds": "7"}, None),
        (None, "no object", None),
        (None, None, None),
    ],
)
def test_the_servers_wish_comes_from_the_header_or_the_details(
    header: str | None, details: object, expected: float | None
) -> None:
    error = errors.error_from_response(429, status(429, details=details), retry_after=header)

    assert error.retry_after == expected


def test_an_error_event_without_a_code_is_recognised_by_its_reason() -> None:
    assert type(errors.error_from_status({"reason": "Expired"})) is errors.Gone
    assert type(errors.error_from_status({})) is errors.ServerError


def test_an_error_without_a_request_tells_only_itself() -> None:
    assert errors.error_from_status({"code": 404}).diagnostics().startswith("404 NotFound")


def test_the_base_error_tells_its_message() -> None:
    error = errors.Unreachable("no way")

    assert error.diagnostics() == "no way"
    assert error.reason == "Unreachable"
    assert error.retry_after is None
