"""X.509 as the webhook needs it: a self-signed authority and server certificates, all on P-256."""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from supply_chain.errors import BadCertificates

_BACKDATED: Final = dt.timedelta(minutes=5)
"""Clocks differ; a certificate that is not valid yet is as useless as one that no longer is."""


@dataclass(frozen=True, slots=True)
class Signer:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @property
    def certificate_pem(self) -> bytes:
        """Return the certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """Return the key as unencrypted PEM; it belongs in the Secret and nowhere else."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    @property
    def starts(self) -> dt.datetime:
        """Return when it was made."""
        return self.certificate.not_valid_before_utc + _BACKDATED

    @property
    def expires(self) -> dt.datetime:
        """Return when it ends."""
        return self.certificate.not_valid_after_utc

    def is_signed_by(self, authority: "Signer") -> bool:
        """Tell whether the authority's key signed the certificate."""
        try:
            self.certificate.verify_directly_issued_by(authority.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True


def make_authority(now: dt.datetime, seconds: float) -> Signer:
    """Make a self-signed authority; the serial number in its name tells generations apart."""
    key = ec.generate_private_key(ec.SECP256R1())
    serial = x509.random_serial_number()
    name = _name(f"levelset-supply-chain {serial:x}"[:64])
    certificate = (
        _builder(now, seconds, serial)
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Signer(certificate, key)


def make_serving(
    authority: Signer, names: Sequence[str], now: dt.datetime, seconds: float
) -> Signer:
    """Make a server certificate for DNS names and IP addresses, never outliving its authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    left = (authority.expires - now).total_seconds()
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    certificate = (
        _builder(now, min(seconds, left), x509.random_serial_number())
        .subject_name(_name("levelset-supply-chain"))
        .issuer_name(authority.certificate.subject)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([_general(n) for n in names]), critical=False)
        .add_extension(identifier, critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return Signer(certificate, key)


def load_signer(certificate_pem: bytes, key_pem: bytes) -> Signer:
    """Load a pair; raises BadCertificates if the parts do not belong together."""
    try:
        certificate = x509.load_pem_x509_certificate(certificate_pem)
        key = serialization.load_pem_private_key(key_pem, password=None)
    except (ValueError, TypeError) as error:
        raise BadCertificates(f"a certificate or key does not parse: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise BadCertificates("expected a key on an elliptic curve")
    if key.public_key() != certificate.public_key():
        raise BadCertificates("a certificate and its key do not belong together")
    return Signer(certificate, key)


def names_in(certificate: x509.Certificate) -> tuple[str, ...]:
    """Return the names that a server certificate is for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(str(name.value) for name in names)


def _builder(now: dt.datetime, seconds: float, serial: int) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .serial_number(serial)
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(now + dt.timedelta(seconds=max(seconds, 1)))
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )
