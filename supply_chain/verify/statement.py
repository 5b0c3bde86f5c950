"""in-toto statements: what a DSSE envelope says about which digest.

sigstore's own reader refuses what `cosign sign` writes (a subject without a name), Statement/v0.1,
and any statement with a digest algorithm that it does not know; hence this one.
"""

from dataclasses import dataclass
from typing import Any, Final

from supply_chain.errors import VerificationFailed
from supply_chain.registry.reference import Digest, parse_digest
from supply_chain.verify import strict_json

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
SIGNATURE_PREDICATE: Final = "https://sigstore.dev/cosign/sign/v1"
_TYPES: Final = frozenset({"https://in-toto.io/Statement/v1", "https://in-toto.io/Statement/v0.1"})
_MAX_SUBJECTS: Final = 1024


@dataclass(frozen=True, slots=True)
class Statement:
    """The parts that a verdict rests on."""

    predicate_type: str
    subjects: frozenset[Digest]


def parse_statement(payload: bytes) -> Statement:
    """Parse a verified payload; raises VerificationFailed (reason Malformed)."""
    raw = strict_json.loads(payload, what="the signed statement")
    if raw.get("_type") not in _TYPES:
        raise _malformed(f"_type is {raw.get('_type')!r}, expected an in-toto Statement")
    predicate_type, subjects = raw.get("predicateType"), raw.get("subject")
    if not isinstance(predicate_type, str) or not predicate_type:
        raise _malformed("predicateType is missing")
    if not isinstance(subjects, list) or not 0 < len(subjects) <= _MAX_SUBJECTS:
        raise _malformed(f"subject is not a list of 1 to {_MAX_SUBJECTS}")
    found = (_sha256(subject) for subject in subjects)
    return Statement(predicate_type, frozenset(digest for digest in found if digest))


def require_signature_of(digest: Digest, *, payload_type: str, payload: bytes) -> None:
    """Check that a verified envelope is a signature of this image, and not something else.

    An attestation (an SBOM, say) by the right key is no signature: it says what is in the image,
    not that it may run. `cosign verify` 3.1.3 accepts one; this does not.
    """
    if payload_type != PAYLOAD_TYPE:
        raise VerificationFailed(
            f"the envelope's payload type is {payload_type!r}, expected {PAYLOAD_TYPE}",
            reason="NotASignature",
        )
    statement = parse_statement(payload)
    if digest not in statement.subjects:
        raise VerificationFailed(
            f"the signature is for {', '.join(sorted(statement.subjects)) or 'no sha256 digest'}",
            reason="WrongSubject",
        )
    if statement.predicate_type != SIGNATURE_PREDICATE:
        raise VerificationFailed(
            f"there is an attestation ({statement.predicate_type}) and no signature",
            reason="NotASignature",
        )


def _sha256(subject: Any) -> Digest | None:
    digests = subject.get("digest") if isinstance(subject, dict) else None
    if not isinstance(digests, dict):
        raise _malformed("a subject has no digest")
    return parse_digest(f"sha256:{digests.get('sha256')}")


def _malformed(what: str) -> VerificationFailed:
    return VerificationFailed(f"the signed statement is malformed: {what}", reason="Malformed")
