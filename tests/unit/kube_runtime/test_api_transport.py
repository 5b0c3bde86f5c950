"""Lines out of chunks, and aiohttp's errors in our words."""

import ssl

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime.errors import BrokenStream, KubeError, RequestTimeout, Unreachable
from kube_runtime.transport_errors import translate
from kube_runtime.transport_lines import LineSplitter

LINES = st.lists(st.binary(min_size=1, max_size=20).filter(lambda line: b"\n" not in line))
KEY = ConnectionKey("api.example.com", 6443, True, True, None, None, None)


@given(LINES, st.data())
def test_lines_come_out_whole_wherever_the_chunks_end(
    lines: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    splitter = LineSplitter()

    found = [
        line
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
        for line in splitter.feed(stream[start:end])
    ]

    assert found == lines
    assert not splitter.has_rest


def test_a_line_without_end_is_kept_back() -> None:
    splitter = LineSplitter()

    assert splitter.feed(b"one\ntw") == [b"one"]
    assert splitter.has_rest
    assert splitter.feed(b"o\n\n") == [b"two"]
    assert not splitter.has_rest


def test_a_line_beyond_the_bound_is_refused() -> None:
    splitter = LineSplitter(max_line_bytes=10)
    splitter.feed(b"12345\n123456")

    with pytest.raises(BrokenStream, match="at most 10 bytes"):
        splitter.feed(b"7890X")


def translated(error: BaseException) -> KubeError:
    return translate(
        error, request="GET /api", server="https://api.example.com:6443", source="/etc/kubeconfig"
    )


@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [
        (
            aiohttp.ClientConnectorError(KEY, ConnectionRefusedError(111, "Connection refused")),
            Unreachable,
            ["Connection refused", "that the API server runs", "/etc/kubeconfig"],
        ),
        (
            aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "Name or service not known")),
            Unreachable,
            ["Name or service not known", "the address in /etc/kubeconfig"],
        ),
        (
            aiohttp.ClientConnectorCertificateError(
                KEY, ssl.SSLCertVerificationError("self-signed certificate")
            ),
            Unreachable,
            ["self-signed certificate", "check certificate-authority"],
        ),
        (
            aiohttp.ClientConnectorError(KEY, ssl.SSLError(1, "tlsv1 alert unknown ca")),
            Unreachable,
            ["unknown ca", "check certificate-authority"],
        ),
        (
            aiohttp.ClientConnectorSSLError(KEY, ssl.SSLError(1, "wrong version number")),
            Unreachable,
            ["wrong version number", "check certificate-authority"],
        ),
        (aiohttp.ConnectionTimeoutError("connect"), Unreachable, ["expected a connection"]),
        (aiohttp.SocketTimeoutError("read"), RequestTimeout, ["found silence"]),
        (TimeoutError(), RequestTimeout, ["expected an answer in time"]),
        (aiohttp.ServerDisconnectedError(), Unreachable, ["Server disconnected"]),
        (aiohttp.ClientPayloadError("half"), Unreachable, ["expected a whole answer", "half"]),
        (ConnectionResetError(), Unreachable, ["ConnectionResetError"]),
        (aiohttp.ClientConnectorError(KEY, OSError("no number")), Unreachable, ["no number"]),
    ],
)
def test_a_broken_connection_names_host_cause_and_next_step(
    error: BaseException, expected: type[KubeError], words: list[str]
) -> None:
    made = translated(error)

    assert type(made) is expected
    for word in ["GET /api at https://api.example.com:6443", *words]:
        assert word in str(made)
