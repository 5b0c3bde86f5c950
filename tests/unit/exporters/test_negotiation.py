"""Which format and encoding a scraper gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exporters.negotiation import accepts_gzip, choose_format

PROMETHEUS_2 = (
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
    "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
)
PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", "text"),
        ("*/*", "text"),
        ("text/plain", "text"),
        ("text/*", "text"),
        ("text/html,application/xhtml+xml", "text"),
        ("application/openmetrics-text", "openmetrics"),
        ("application/openmetrics-text; version=1.0.0; charset=utf-8", "openmetrics"),
        ('application/openmetrics-text;version="1.0.0"', "openmetrics"),
        (PROMETHEUS_2, "openmetrics"),
        (PROMETHEUS_3, "openmetrics"),
        ("application/openmetrics-text;q=0.1,text/plain;q=0.9", "text"),
        ("application/openmetrics-text;q=0,text/plain;q=0", "text"),
        ("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily", "text"),
    ],
)
def test_the_wish_with_the_highest_quality_wins(accept: str, form: str) -> None:
    assert choose_format(accept) == form


@pytest.mark.parametrize("version", ["0.0.1", "1.1.0", "2.0.0", "2.0.0-rc0", "9.9.9", "x"])
def test_a_version_that_we_do_not_speak_is_never_claimed(version: str) -> None:
    assert choose_format(f"application/openmetrics-text;version={version}") == "text"


@pytest.mark.parametrize(
    ("accept_encoding", "is_accepted"),
    [
        ("gzip", True),
        ("gzip, deflate, br", True),
        ("*", True),
        ("gzip;q=0.5", True),
        ("gzip;q=0", False),
        ("gzip;q=0, *", False),
        ("identity", False),
        ("", False),
        ("gzip;q=nonsense", False),
    ],
)
def test_gzip_is_used_where_it_is_accepted(accept_encoding: str, *, is_accepted: bool) -> None:
    assert accepts_gzip(accept_encoding) is is_accepted


@given(st.text())
def test_any_header_is_answered(header: str) -> None:
    assert choose_format(header) in ("text", "openmetrics")
    assert accepts_gzip(header) in (True, False)
