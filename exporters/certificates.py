"""The certificate that /metrics is served with, and its reload while connections go on.

From files (a mounted Secret, a rotated pair) or made in memory. A pair that does not fit, as seen
in the middle of a rotation, never replaces the one in use: it is counted, logged and tried again.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import logging
import socket
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn, Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from exporters.errors import BadCertificate
from kube_runtime.logs import fields

_LOG: Final = logging.getLogger(__name__)
_LIFETIME: Final = dt.timedelta(days=365)
_CLOCK_SKEW: Final = dt.timedelta(hours=1)


class ServingTls(Protocol):
    """What the server needs: a live context, and somebody who keeps it fresh."""

    def context(self) -> ssl.SSLContext:
        """Return the context; it stays the same object for the life of the server."""

    async def keep_fresh(self, on_read: Callable[[bool], None]) -> None:
        """Watch for a new certificate until cancelled; tell whether each reading worked."""


@dataclass(frozen=True, slots=True)
class _Stamp:
    """Tells two versions of a file apart; a mounted Secret changes its inode with each version."""

    inode: int
    size: int
    mtime_ns: int


class CertificateFiles:
    """A pair of PEM files, looked at again every few seconds."""

    def __init__(self, cert_file: Path, key_file: Path, *, check_seconds: float = 10.0) -> None:
        self._files = (cert_file, key_file)
        self._check_seconds = check_seconds
        self._context = _server_context()
        self._seen = self._stamps()
        self._read()

    def context(self) -> ssl.SSLContext:
        """Return the live context."""
        return self._context

    async def keep_fresh(self, on_read: Callable[[bool], None]) -> None:
        """Load the files again whenever one of them changed."""
        on_read(True)
        while True:
            await asyncio.sleep(self._check_seconds)
            self._look(on_read)

    def _look(self, on_read: Callable[[bool], None]) -> None:
        try:
            stamps = self._stamps()
            if stamps == self._seen:
                return
            self._read()
        except BadCertificate as error:  # _seen stays behind: the next look tries again
            on_read(False)
            _LOG.warning("serving certificate not reloaded", extra=fields(error=str(error)))
        else:
            self._seen = stamps
            on_read(True)
            _LOG.info("serving certificate reloaded", extra=fields(file=str(self._files[0])))

    def _stamps(self) -> tuple[_Stamp, ...]:
        try:
            found = [file.stat() for file in self._files]
        except OSError as error:
            self._refuse(error)
        return tuple(_Stamp(stat.st_ino, stat.st_size, stat.st_mtime_ns) for stat in found)

    def _read(self) -> None:
        """Load the pair into the live context, after a context of its own has accepted it."""
        try:
            for context in (_server_context(), self._context):
                context.load_cert_chain(*self._files, password=_no_password)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            self._refuse(error)

    def _refuse(self, error: Exception) -> NoReturn:
        raise BadCertificate(
            f"certificate {self._files[0]} with key {self._files[1]}: expected a PEM chain and its "
            f"unencrypted key, found: {error}; check the two files or the Secret they come from",
        ) from error


class SelfSigned:
    """A certificate that lives as long as the process."""

    def __init__(self, *names: str) -> None:
        self._context = _server_context()
        certificate, key = self_signed_pem(names or (socket.gethostname(), "localhost"))
        with tempfile.TemporaryDirectory(prefix="levelset-") as folder:  # ssl reads files only
            cert_file, key_file = Path(folder, "tls.crt"), Path(folder, "tls.key")
            cert_file.write_bytes(certificate)
            key_file.touch(mode=0o600)
            key_file.write_bytes(key)
            self._context.load_cert_chain(cert_file, key_file)

    def context(self) -> ssl.SSLContext:
        """Return the context."""
        return self._context

    async def keep_fresh(self, on_read: Callable[[bool], None]) -> None:
        """Do nothing, for ever; a year is longer than a pod lives."""
        on_read(True)
        await asyncio.Event().wait()


def self_signed_pem(names: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Make a P-256 key and a certificate for these DNS names and addresses, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "levelset-metrics")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName([_general(n) for n in names]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _no_password() -> bytes:
    """Stop OpenSSL from asking a terminal for the password of an encrypted key."""
    raise ValueError("the key is encrypted")
