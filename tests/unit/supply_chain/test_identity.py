"""Who a certificate is for, in all the forms in which certificate authorities write it."""

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from supply_chain.resources import Identity, Matcher
from supply_chain.verify.identity import AnyOf, WrongIdentityError, issuer_of, subjects_of

NOW = dt.datetime.now(dt.UTC)
KEY = ec.generate_private_key(ec.SECP256R1())
OLD_ISSUER, ISSUER = "1.3.6.1.4.1.57264.1.1", "1.3.6.1.4.1.57264.1.8"
FULCIO_NAME = x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.7")


def certificate(*names: x509.GeneralName, **extensions: bytes) -> x509.Certificate:
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([]))
        .issuer_name(x509.Name([]))
        .public_key(KEY.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + dt.timedelta(minutes=10))
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=True)
    for oid, value in extensions.items():
        extension = x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), value)
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(KEY, hashes.SHA256())


def text(value: bytes) -> bytes:
    length = bytes([len(value)]) if len(value) < 128 else bytes([0x81, len(value)])
    return b"\x0c" + length + value


@pytest.mark.parametrize(
    ("extensions", "issuer"),
    [
        ({}, ""),
        ({OLD_ISSUER: b"https://old.test"}, "https://old.test"),
        ({ISSUER: text(b"https://new.test")}, "https://new.test"),
        ({OLD_ISSUER: b"https://old.test", ISSUER: text(b"https://new.test")}, "https://new.test"),
        ({ISSUER: text(b"x" * 200)}, "x" * 200),
        ({ISSUER: b"https://raw.test"}, ""),
        ({ISSUER: text(b"https://new.test") + b"more"}, ""),
        ({OLD_ISSUER: b"https://old.test", ISSUER: b"\x0c"}, ""),
    ],
)
def test_the_issuer_is_read_in_both_forms_and_never_half(
    extensions: dict[str, bytes], issuer: str
) -> None:
    assert issuer_of(certificate(**extensions)) == issuer


def test_subjects_are_addresses_uris_and_the_authoritys_own_form() -> None:
    found = certificate(
        x509.DNSName("not.a.subject.test"),
        x509.RFC822Name("dev@example.test"),
        x509.UniformResourceIdentifier("https://example.test/job"),
        x509.OtherName(FULCIO_NAME, text(b"robot!example.test")),
        x509.OtherName(x509.ObjectIdentifier("1.2.3"), text(b"somebody")),
    )

    assert subjects_of(found) == [
        "dev@example.test",
        "https://example.test/job",
        "robot!example.test",
    ]
    assert subjects_of(certificate()) == []


def test_a_certificate_without_names_is_nobodys() -> None:
    identity = Identity(Matcher("", None), Matcher("", None))

    with pytest.raises(WrongIdentityError, match="signed by nobody"):
        AnyOf([identity]).verify(certificate())
