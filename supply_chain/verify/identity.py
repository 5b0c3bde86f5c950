"""Whom a signing certificate is for: one of the policy's identities, or nobody we trust."""

from collections.abc import Sequence
from typing import Final

from cryptography import x509
from sigstore.errors import VerificationError

from supply_chain.resources import Identity

_ISSUER_V2: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8")
_ISSUER_V1: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.1")
_OTHER_NAME: Final = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.7")
_UTF8_STRING: Final = 0x0C


class WrongIdentityError(VerificationError):
    """The certificate is good, and somebody else's."""


class AnyOf:
    """A sigstore verification policy: issuer and subject must fit the same identity."""

    def __init__(self, identities: Sequence[Identity]) -> None:
        self._identities = identities

    def verify(self, cert: x509.Certificate) -> None:
        """Raise WrongIdentityError unless one identity fits."""
        issuer, subjects = issuer_of(cert), subjects_of(cert)
        for identity in self._identities:
            if identity.issuer.matches(issuer) and any(map(identity.subject.matches, subjects)):
                return
        expected = " or ".join(str(identity) for identity in self._identities)
        raise WrongIdentityError(
            f"signed by {', '.join(subjects) or 'nobody'} (issuer {issuer or 'none'}), "
            f"expected {expected}"
        )


def issuer_of(cert: x509.Certificate) -> str:
    """Return who vouched for the signer, "" if nobody: the DER form, else the older raw form."""
    if (raw := _extension(cert, _ISSUER_V2)) is not None:
        return _utf8_string(raw)
    raw = _extension(cert, _ISSUER_V1)
    return "" if raw is None else raw.decode("utf-8", "replace")


def subjects_of(cert: x509.Certificate) -> list[str]:
    """Return the signer's names: e-mail addresses, URIs, and Fulcio's own name form."""
    try:
        names = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    found = names.get_values_for_type(x509.RFC822Name)
    found += names.get_values_for_type(x509.UniformResourceIdentifier)
    others = names.get_values_for_type(x509.OtherName)
    return found + [_utf8_string(name.value) for name in others if name.type_id == _OTHER_NAME]


def _extension(cert: x509.Certificate, oid: x509.ObjectIdentifier) -> bytes | None:
    for extension in cert.extensions:
        if extension.oid == oid and isinstance(extension.value, x509.UnrecognizedExtension):
            return extension.value.value
    return None


def _utf8_string(der: bytes) -> str:
    """Decode one DER UTF8String that fills the whole value; "" for anything else."""
    if len(der) < 2 or der[0] != _UTF8_STRING:
        return ""
    length, start = der[1], 2
    if length & 0x80:
        count = length & 0x7F
        length, start = int.from_bytes(der[2 : 2 + count]), 2 + count
    body = der[start:]
    return body.decode("utf-8", "replace") if len(body) == length else ""
