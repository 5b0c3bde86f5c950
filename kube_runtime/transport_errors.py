"""Translates what aiohttp raises into our errors, with the host and the next step. Pure."""

import ssl

import aiohttp

from kube_runtime.errors import KubeError, RequestTimeout, Unreachable

FOREIGN_ERRORS = (aiohttp.ClientError, TimeoutError, OSError)


def translate(error: BaseException, *, request: str, server: str, source: str) -> KubeError:
    """Make the error to raise, from any of FOREIGN_ERRORS."""
    where = f"{request} at {server}"
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Unreachable(
            f"{where}: expected a connection, found: {_found(error)}; {_next_step(error, source)}"
        )
    if isinstance(error, aiohttp.SocketTimeoutError):
        return RequestTimeout(
            f"{where}: expected data or a bookmark, found silence; "
            "something on the way lost the connection without saying so"
        )
    if isinstance(error, TimeoutError):
        return RequestTimeout(
            f"{where}: expected an answer in time, found none; "
            "look at the load of the API server and the network to it"
        )
    return Unreachable(
        f"{where}: expected a whole answer, found: {_found(error)}; "
        "the connection was cut, look at the API server's log"
    )


def _found(error: BaseException) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return str(error.certificate_error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return error.os_error.strerror or str(error.os_error)
    return str(error) or type(error).__name__


def _next_step(error: BaseException, source: str) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError):
        return f"check certificate-authority and certificates in {source}"
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, ssl.SSLError):
        return f"check certificate-authority and certificates in {source}"
    return f"check that the API server runs and that the address in {source} is right"
