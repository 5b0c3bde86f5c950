"""The certificate authority of one local cluster, and what it issues.

Called by the control plane and by every node; keys never leave the state folder (mode 0600).
"""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = timedelta(days=365)
_CLOCK_SKEW = timedelta(minutes=5)  # a node's clock may be behind the one that issued


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Authority:
    """An authority that lives in a folder and issues into it."""

    directory: Path
    certificate: Path
    _key: ec.EllipticCurvePrivateKey
    _parsed: x509.Certificate

    @classmethod
    def create(cls, directory: Path, name: str) -> "Authority":
        """Make a new authority; an earlier one in the folder is replaced."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        constraints = x509.BasicConstraints(ca=True, path_length=0)
        usage = _key_usage(signs_certificates=True)
        parsed = (
            _builder(subject, subject, key)
            .add_extension(constraints, critical=True)
            .add_extension(usage, critical=True)
            .add_extension(_subject_identifier(key), critical=False)
            .sign(key, hashes.SHA256())
        )
        pair = _write(directory, "ca", parsed, key)
        return cls(directory, pair.certificate, key, parsed)

    @classmethod
    def load(cls, directory: Path) -> "Authority":
        """Take up an authority that `create` made."""
        key = serialization.load_pem_private_key((directory / "ca.key").read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{directory / 'ca.key'}: expected an elliptic curve key")
        certificate = directory / "ca.crt"
        parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
        return cls(directory, certificate, key, parsed)

    def issue(
        self, file: str, *, common_name: str, groups: Sequence[str] = (), hosts: Sequence[str] = ()
    ) -> Certificate:
        """Issue a certificate for clients, and for servers too if `hosts` names any."""
        key = ec.generate_private_key(ec.SECP256R1())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if hosts:
            usages.append(ExtendedKeyUsageOID.SERVER_AUTH)
        builder = (
            _builder(_name(common_name, groups), self._parsed.subject, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
            .add_extension(_subject_identifier(key), critical=False)
            .add_extension(_issuer_identifier(self._key), critical=False)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_alternative(host) for host in hosts])
            builder = builder.add_extension(names, critical=False)
        return _write(self.directory, file, builder.sign(self._key, hashes.SHA256()), key)


def write_signing_key(directory: Path, file: str) -> Certificate:
    """Write the key pair that signs service account tokens; `certificate` is the public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = directory / f"{file}.pub"
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return Certificate(public, _write_key(directory / f"{file}.key", key))


# Python 3.13 and later verify strictly (RFC 5280, 4.2.1.1 and 4.2.1.2) and refuse chains without these.
def _subject_identifier(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _issuer_identifier(key: ec.EllipticCurvePrivateKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _name(common_name: str, groups: Sequence[str] = ()) -> x509.Name:
    organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write(
    directory: Path, file: str, parsed: x509.Certificate, key: ec.EllipticCurvePrivateKey
) -> Certificate:
    certificate = directory / f"{file}.crt"
    certificate.write_bytes(parsed.public_bytes(serialization.Encoding.PEM))
    return Certificate(certificate, _write_key(directory / f"{file}.key", key))


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> Path:
    path.touch(mode=0o600)
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path
