"""Keyless signatures: sigstore's verifier, with the gaps closed that it leaves.

The order matters: first the times that the bundle proves, then a root narrowed to what was valid
at those times, then sigstore over that root. What sigstore promises then holds at those times.
"""

import datetime as dt

from cryptography import x509
from sigstore import models as sigstore_models
from sigstore.verify import Verifier

from supply_chain.errors import SupplyChainError, VerificationFailed
from supply_chain.resources import Identity
from supply_chain.verify import log_entries
from supply_chain.verify.bundles import ParsedBundle
from supply_chain.verify.identity import AnyOf, WrongIdentityError
from supply_chain.verify.trust_roots import TrustRoot


def verify_envelope(
    bundle: ParsedBundle, root: TrustRoot, identities: tuple[Identity, ...]
) -> tuple[str, bytes]:
    """Return payload type and payload of an envelope that one of the identities signed.

    Raises VerificationFailed.
    """
    keyless = require_certificate(bundle)
    if bundle.envelope is None:
        raise VerificationFailed(
            "the bundle signs bare bytes, expected a DSSE envelope", reason="NotASignature"
        )
    try:
        return verifier_for(bundle, root).verify_dsse(keyless, AnyOf(identities))
    except SupplyChainError:
        raise
    except WrongIdentityError as error:
        raise VerificationFailed(str(error), reason="WrongIdentity") from error
    except Exception as error:
        # Malformed material surfaces as TypeError, ValueError or AttributeError too, depending on
        # where sigstore trips over it. All of it means one thing: not verified.
        detail = str(error) or type(error).__name__
        raise VerificationFailed(f"the signature does not verify: {detail}") from error


def require_certificate(bundle: ParsedBundle) -> sigstore_models.Bundle:
    """Return sigstore's view of the bundle; raises VerificationFailed if it has none."""
    if bundle.keyless is not None:
        return bundle.keyless
    material = bundle.inner.verification_material
    if material.public_key is not None:
        raise VerificationFailed(
            "the signature is by a key, expected a certificate", reason="WrongKind"
        )
    raise VerificationFailed("transparency log: no entry", reason="LogEntryMissing")


def verifier_for(bundle: ParsedBundle, root: TrustRoot) -> Verifier:
    """Return a verifier over what the root held valid at the times that the bundle proves."""
    keyless = require_certificate(bundle)
    times = log_entries.proven_times(bundle, keyless.log_entry._inner, root)  # noqa: SLF001 - pinned
    if not times:
        raise VerificationFailed(
            "nothing proves when the signature was made", reason="OutsideValidity"
        )
    return root.verifier_at(times, _certified(keyless.signing_certificate))


def _certified(certificate: x509.Certificate) -> list[dt.datetime]:
    try:
        promises = certificate.extensions.get_extension_for_class(
            x509.PrecertificateSignedCertificateTimestamps
        ).value
    except (x509.ExtensionNotFound, ValueError) as error:
        raise VerificationFailed(
            "the certificate is in no certificate-transparency log", reason="OutsideValidity"
        ) from error
    # The format has milliseconds without a zone, and means UTC.
    return [promise.timestamp.replace(tzinfo=dt.UTC) for promise in promises]
