"""Transparency log entries of signatures by a plain key.

sigstore verifies that an entry is in the log. That the entry is about *this* signature by *this*
key over *this* payload is ours to check: without it any valid entry could be pasted onto any
signature (CVE-2022-23649, and again CVE-2026-22703).
"""

import base64
import binascii
import datetime as dt
import hashlib
from typing import Any

from cryptography.hazmat.primitives import serialization
from sigstore._internal.trust import KeyringPurpose
from sigstore.errors import Error as SigstoreError
from sigstore.models import TransparencyLogEntry
from sigstore_models.rekor import v1 as rekor_v1

from supply_chain.errors import VerificationFailed
from supply_chain.verify import keys, strict_json
from supply_chain.verify.bundles import ParsedBundle
from supply_chain.verify.trust_roots import TrustRoot


def require_logged(
    bundle: ParsedBundle, key: keys.PublicKey, root: TrustRoot, *, now: dt.datetime
) -> None:
    """Check that the bundle's signature stands in a log of the root; raises VerificationFailed."""
    entries = bundle.inner.verification_material.tlog_entries
    if len(entries) != 1:
        raise _bad(f"expected exactly one entry, found {len(entries)}", "LogEntryMissing")
    entry = entries[0]
    # A Rekor v2 entry carries no time of its own. Without a timestamp, only a log that is valid
    # today can be believed, since nothing proves when the entry was made.
    times = proven_times(bundle, entry, root) or [now]
    try:
        keyring = root.logs_at(times).rekor_keyring(KeyringPurpose.VERIFY)
        TransparencyLogEntry(entry)._verify(keyring)  # noqa: SLF001 - no public way; pinned 4.5.1
    except (SigstoreError, ValueError, TypeError) as error:
        raise _bad(str(error)) from error
    if not _is_about(entry, bundle, key):
        raise _bad("the entry is about another signature, key or payload")


def proven_times(
    bundle: ParsedBundle, entry: rekor_v1.TransparencyLogEntry, root: TrustRoot
) -> list[dt.datetime]:
    """Return the times that authorities stamped, and the one that the log promises.

    The log's promise is verified later, with the keys valid at that time.
    """
    times = root.stamped_times(bundle.timestamps, bundle.signature)
    if entry.inclusion_promise and entry.integrated_time:
        try:
            times.append(dt.datetime.fromtimestamp(entry.integrated_time, tz=dt.UTC))
        except (OverflowError, OSError, ValueError) as error:
            raise _bad("the integrated time is no time") from error
    return times


def _is_about(
    entry: rekor_v1.TransparencyLogEntry, bundle: ParsedBundle, key: keys.PublicKey
) -> bool:
    body = strict_json.loads(entry.canonicalized_body, what="the log entry")
    kind, version = entry.kind_version.kind, entry.kind_version.version
    if (body.get("kind"), body.get("apiVersion")) != (kind, version):
        return False
    try:
        match kind, version:
            case "dsse", "0.0.1":
                return _is_dsse_v1(body["spec"], bundle, key)
            case "hashedrekord", "0.0.2":
                return _is_hashedrekord_v2(body["spec"]["hashedRekordV002"], bundle, key)
            case "hashedrekord", "0.0.1":
                return _is_hashedrekord_v1(body["spec"], bundle, key)
            case _:
                raise _bad(f"entries of kind {kind} {version} are not supported")
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, binascii.Error) as error:
        raise _bad(f"the entry's body is malformed: {error!r}") from error


def _is_dsse_v1(spec: dict[str, Any], bundle: ParsedBundle, key: keys.PublicKey) -> bool:
    if bundle.envelope is None or bundle.inner.dsse_envelope is None:
        return False
    payload = hashlib.sha256(bundle.inner.dsse_envelope.payload).hexdigest()
    [signature] = spec["signatures"]
    return (
        spec["payloadHash"] == {"algorithm": "sha256", "value": payload}
        and _decoded(signature["signature"]) == bundle.signature
        and _is_key(_decoded(signature["verifier"]), key)
    )


def _is_hashedrekord_v2(spec: dict[str, Any], bundle: ParsedBundle, key: keys.PublicKey) -> bool:
    algorithm = keys.hash_of(key)
    if algorithm is None:
        return False
    digest = hashlib.new(algorithm.name, _signed_bytes(bundle)).digest()
    if bundle.envelope is None:
        digest = _message_digest(bundle)
    return (
        spec["data"]["algorithm"] == f"SHA2_{algorithm.digest_size * 8}"
        and _decoded(spec["data"]["digest"]) == digest
        and _decoded(spec["signature"]["content"]) == bundle.signature
        and _decoded(spec["signature"]["verifier"]["publicKey"]["rawBytes"]) == keys.spki_der(key)
    )


def _is_hashedrekord_v1(spec: dict[str, Any], bundle: ParsedBundle, key: keys.PublicKey) -> bool:
    if bundle.envelope is not None:
        return False
    expected = {"algorithm": "sha256", "value": _message_digest(bundle).hex()}
    return (
        spec["data"]["hash"] == expected
        and _decoded(spec["signature"]["content"]) == bundle.signature
        and _is_key(_decoded(spec["signature"]["publicKey"]["content"]), key)
    )


def _signed_bytes(bundle: ParsedBundle) -> bytes:
    return b"" if bundle.envelope is None else bundle.envelope.pae()


def _message_digest(bundle: ParsedBundle) -> bytes:
    message = bundle.inner.message_signature
    if message is None or message.message_digest is None:
        raise ValueError("the bundle states no message digest")
    return message.message_digest.digest


def _is_key(pem: bytes, key: keys.PublicKey) -> bool:
    logged = serialization.load_pem_public_key(pem)
    return logged.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    ) == keys.spki_der(key)


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _bad(what: str, reason: str = "LogEntryInvalid") -> VerificationFailed:
    return VerificationFailed(f"transparency log: {what}", reason=reason)
