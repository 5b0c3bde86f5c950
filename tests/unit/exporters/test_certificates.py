"""The serving certificate: read, refused, reloaded."""

import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from exporters.certificates import CertificateFiles, SelfSigned, self_signed_pem
from exporters.errors import BadCertificate


def _write_pair(folder: Path, name: str = "localhost") -> tuple[Path, Path]:
    certificate, key = self_signed_pem((name,))
    cert_file, key_file = folder / "tls.crt", folder / "tls.key"
    cert_file.write_bytes(certificate)
    key_file.write_bytes(key)
    return cert_file, key_file


def _look(files: CertificateFiles) -> list[bool]:
    told: list[bool] = []
    files._look(told.append)  # keep_fresh calls it every ten seconds
    return told


def test_a_pair_of_files_is_loaded(tmp_path: Path) -> None:
    files = CertificateFiles(*_write_pair(tmp_path))

    assert files.context().minimum_version == ssl.TLSVersion.TLSv1_2
    assert _look(files) == []


def test_a_new_pair_is_loaded_into_the_same_context(tmp_path: Path) -> None:
    files = CertificateFiles(*_write_pair(tmp_path))
    before = files.context()

    _write_pair(tmp_path, "another")

    assert _look(files) == [True]
    assert _look(files) == []
    assert files.context() is before


def test_half_a_rotation_is_told_and_tried_again(tmp_path: Path) -> None:
    cert_file, key_file = _write_pair(tmp_path)
    files = CertificateFiles(cert_file, key_file)
    certificate, key = self_signed_pem(("another",))

    cert_file.write_bytes(certificate)
    assert _look(files) == [False]

    key_file.write_bytes(key)
    assert _look(files) == [True]


def test_a_file_that_vanishes_keeps_the_old_certificate(tmp_path: Path) -> None:
    cert_file, key_file = _write_pair(tmp_path)
    files = CertificateFiles(cert_file, key_file)

    key_file.unlink()

    assert _look(files) == [False]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadCertificate, match=r"tls\.crt.*expected a PEM chain.*No such file"):
        CertificateFiles(tmp_path / "tls.crt", tmp_path / "tls.key")


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    cert_file, key_file = _write_pair(tmp_path)
    key_file.write_bytes(self_signed_pem(("another",))[1])

    with pytest.raises(BadCertificate, match="expected a PEM chain and its unencrypted key"):
        CertificateFiles(cert_file, key_file)


def test_an_encrypted_key_is_refused_instead_of_asking_a_terminal(tmp_path: Path) -> None:
    cert_file, key_file = _write_pair(tmp_path)
    key = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"word"),
    )
    key_file.write_bytes(encrypted)

    with pytest.raises(BadCertificate):
        CertificateFiles(cert_file, key_file)


def test_a_self_signed_certificate_names_hosts_and_addresses() -> None:
    certificate, _ = self_signed_pem(("localhost", "127.0.0.1", "::1"))

    names = (
        x509.load_pem_x509_certificate(certificate)
        .extensions.get_extension_for_class(x509.SubjectAlternativeName)
        .value
    )

    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(a) for a in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1", "::1"]


def test_a_self_signed_context_can_serve() -> None:
    assert isinstance(SelfSigned("localhost").context(), ssl.SSLContext)
