"""Signatures by a plain key, which sigstore-python does not verify at all."""

import datetime as dt

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

from supply_chain.errors import VerificationFailed
from supply_chain.verify import keys, log_entries
from supply_chain.verify.bundles import ParsedBundle
from supply_chain.verify.trust_roots import TrustRoot


def verify_envelope(
    bundle: ParsedBundle, key: keys.PublicKey, *, root: TrustRoot | None, now: dt.datetime
) -> tuple[str, bytes]:
    """Return payload type and payload of an envelope that the key signed.

    With a root, the signature must stand in one of its logs too. The bundle's key hint is never
    used: it is the signer's claim. Raises VerificationFailed.
    """
    _require_key_material(bundle)
    if bundle.envelope is None or bundle.inner.dsse_envelope is None:
        raise VerificationFailed(
            "the bundle signs bare bytes, expected a DSSE envelope", reason="NotASignature"
        )
    keys.verify_signature(key, bundle.signature, bundle.envelope.pae())
    if root is not None:
        log_entries.require_logged(bundle, key, root, now=now)
    return bundle.inner.dsse_envelope.payload_type, bundle.inner.dsse_envelope.payload


def verify_sha256(
    bundle: ParsedBundle,
    key: keys.PublicKey,
    sha256: bytes,
    *,
    root: TrustRoot | None,
    now: dt.datetime,
) -> None:
    """Check a signature over bare bytes with this SHA-256; raises VerificationFailed.

    Blobs are signed this way, images are not.
    """
    _require_key_material(bundle)
    message = bundle.inner.message_signature
    if message is None:
        raise VerificationFailed("the bundle signs an envelope, expected bare bytes")
    if message.message_digest is not None and message.message_digest.digest != sha256:
        raise VerificationFailed("the bundle is for another digest", reason="WrongSubject")
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(message.signature, sha256, ec.ECDSA(utils.Prehashed(hashes.SHA256())))
        elif isinstance(key, rsa.RSAPublicKey):
            prehashed = utils.Prehashed(hashes.SHA256())
            key.verify(message.signature, sha256, padding.PKCS1v15(), prehashed)
        else:
            raise VerificationFailed("Ed25519 needs the bytes, not their digest")
    except InvalidSignature as error:
        raise VerificationFailed(
            "the signature was not made with the key", reason="WrongKey"
        ) from error
    if root is not None:
        log_entries.require_logged(bundle, key, root, now=now)


def _require_key_material(bundle: ParsedBundle) -> None:
    if bundle.inner.verification_material.public_key is None:
        raise VerificationFailed(
            "the signature is by a certificate, expected one by the policy's key",
            reason="WrongKind",
        )
