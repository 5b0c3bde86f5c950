"""Sigstore bundles, parsed once for all authorities of all policies.

Written by protobuf's JSON, bundles leave out what is zero or empty: a log-less bundle has no
`tlogEntries`, the first entry of a log no `logIndex`. The models want them, so they are put back.
"""

import json
from dataclasses import dataclass
from typing import Any, Final, cast

from cryptography import x509
from pydantic import ValidationError
from sigstore import dsse
from sigstore import models as sigstore_models
from sigstore.errors import Error as SigstoreError
from sigstore_models.bundle import v1 as bundle_v1

from supply_chain.errors import VerificationFailed
from supply_chain.verify import strict_json

MAX_BUNDLE_BYTES: Final = 4 * 1024 * 1024
MAX_TIMESTAMPS: Final = 32
# A signature's bundle has some forty values. Half a million empty log entries held the
# interpreter, and with it the webhook of the whole cluster, for 22 seconds.
_MAX_COMMAS: Final = 1024


@dataclass(frozen=True, slots=True)
class ParsedBundle:
    """A bundle; `keyless` is None where it has no certificate or no log entry."""

    inner: bundle_v1.Bundle
    envelope: dsse.Envelope | None
    keyless: sigstore_models.Bundle | None

    @property
    def timestamps(self) -> list[bytes]:
        """Return the signed timestamps, undecoded."""
        data = self.inner.verification_material.timestamp_verification_data
        return [token.signed_timestamp for token in data.rfc3161_timestamps] if data else []

    @property
    def signature(self) -> bytes:
        """Return the signature that timestamps and log entries are about."""
        if self.envelope is not None:
            return self.envelope.signature
        message = self.inner.message_signature
        return b"" if message is None else message.signature


def parse_bundle(raw: bytes) -> ParsedBundle:
    """Parse a bundle; raises VerificationFailed (reason Malformed)."""
    if len(raw) > MAX_BUNDLE_BYTES:
        raise _malformed(f"{len(raw)} bytes, expected at most {MAX_BUNDLE_BYTES}")
    if raw.count(b",") > _MAX_COMMAS:
        raise _malformed(f"expected at most {_MAX_COMMAS} values, found more")
    document = strict_json.loads(raw, what="the bundle")
    _restore_zeros(document)
    try:
        inner = bundle_v1.Bundle.from_json(json.dumps(document))
        envelope = dsse.Envelope(inner.dsse_envelope) if inner.dsse_envelope else None
    except (ValidationError, SigstoreError, ValueError) as error:
        raise _malformed(_first_line(error)) from error
    bundle = ParsedBundle(inner, envelope, _keyless(inner))
    if len(tokens := bundle.timestamps) > MAX_TIMESTAMPS or len(set(tokens)) < len(tokens):
        raise _malformed(f"more than {MAX_TIMESTAMPS} timestamps, or one of them twice")
    _refuse_root_certificates(inner)
    return bundle


def _keyless(inner: bundle_v1.Bundle) -> sigstore_models.Bundle | None:
    if inner.verification_material.public_key is not None:
        return None
    if not inner.verification_material.tlog_entries:
        return None
    try:
        return sigstore_models.Bundle(inner)
    except (SigstoreError, ValueError, TypeError) as error:
        raise _malformed(_first_line(error)) from error


def _refuse_root_certificates(inner: bundle_v1.Bundle) -> None:
    """A bundle must not bring its own root; sigstore only warns about one."""
    chain = inner.verification_material.x509_certificate_chain
    for raw in chain.certificates if chain else ():
        try:
            certificate = x509.load_der_x509_certificate(raw.raw_bytes)
        except ValueError as error:
            raise _malformed(f"a certificate that does not parse: {error}") from error
        if certificate.issuer == certificate.subject:
            raise _malformed("it contains a self-signed certificate")


def _restore_zeros(document: dict[str, Any]) -> None:
    material = document.get("verificationMaterial")
    if not isinstance(material, dict):
        return
    entries = material.setdefault("tlogEntries", [])
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        entry.setdefault("logIndex", "0")
        proof = entry.get("inclusionProof")
        if isinstance(proof, dict):
            proof.setdefault("logIndex", "0")
            proof.setdefault("hashes", cast("list[str]", []))


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return (str(error) or type(error).__name__).splitlines()[0]


def _malformed(what: str) -> VerificationFailed:
    return VerificationFailed(f"the bundle is malformed: {what}", reason="Malformed")
