"""A Sigstore of the tests' own, in memory: CA, certificate log, transparency log, and signers.

Everything that a bundle needs is made here with `cryptography` alone, so that a test can make any
good bundle, and then any bad one, without a network and in about a millisecond.
"""

import base64
import copy
import datetime as dt
import hashlib
import json
import struct
from dataclasses import dataclass, field
from typing import Any

import rfc8785
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Json = dict[str, Any]
PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey

DIGEST = "sha256:" + "ab" * 32
SUBJECT = "https://github.com/acme/app/.github/workflows/release.yml@refs/heads/main"
ISSUER = "https://token.actions.example.test"
SIGN_PREDICATE = "https://sigstore.dev/cosign/sign/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
BUNDLE_TYPE = "application/vnd.dev.sigstore.bundle.v0.3+json"
LONG_AGO = "2020-01-01T00:00:00Z"

_PEM, _DER = serialization.Encoding.PEM, serialization.Encoding.DER
_SPKI = serialization.PublicFormat.SubjectPublicKeyInfo


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def spki(key: PrivateKey) -> bytes:
    return key.public_key().public_bytes(_DER, _SPKI)


def public_pem(key: PrivateKey) -> str:
    return key.public_key().public_bytes(_PEM, _SPKI).decode()


def key_id(key: PrivateKey) -> bytes:
    return hashlib.sha256(spki(key)).digest()


def sign(key: PrivateKey, data: bytes) -> bytes:
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(data)
    algorithm = {256: hashes.SHA256(), 384: hashes.SHA384(), 521: hashes.SHA512()}
    return key.sign(data, ec.ECDSA(algorithm[key.curve.key_size]))


def pae(payload_type: str, payload: bytes) -> bytes:
    return b"DSSEv1 %d %s %d %s" % (
        len(payload_type),
        payload_type.encode(),
        len(payload),
        payload,
    )


def statement(digest: str = DIGEST, *, predicate_type: str = SIGN_PREDICATE, **more: Any) -> Json:
    """What `cosign sign` writes: the subject has no name."""
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": digest.removeprefix("sha256:")}}],
        "predicateType": predicate_type,
        "predicate": {},
        **more,
    }


def envelope(key: PrivateKey, said: Json | bytes, payload_type: str = PAYLOAD_TYPE) -> Json:
    payload = said if isinstance(said, bytes) else json.dumps(said).encode()
    signature = sign(key, pae(payload_type, payload))
    return {
        "payload": b64(payload),
        "payloadType": payload_type,
        "signatures": [{"sig": b64(signature)}],
    }


def key_bundle(key: PrivateKey, said: Json | bytes | None = None, **more: Any) -> Json:
    """A bundle as `cosign sign --key` writes it without a log: no tlogEntries at all."""
    return {
        "mediaType": BUNDLE_TYPE,
        "verificationMaterial": {"publicKey": {"hint": b64(key_id(key))}},
        "dsseEnvelope": envelope(key, statement() if said is None else said, **more),
    }


def raw(bundle: Json) -> bytes:
    return json.dumps(bundle).encode()


def changed(bundle: Json, path: str, value: Any) -> Json:
    """A copy with one field replaced, named by its path with dots."""
    result: Json = copy.deepcopy(bundle)
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    at: Any = result
    for part in parents:
        at = at[part]
    at[last] = value
    return result


@dataclass
class PrivateSigstore:
    """One deployment; `root()` is its trusted_root.json."""

    at: dt.datetime = field(
        default_factory=lambda: (
            dt.datetime.now(dt.UTC).replace(microsecond=0) - dt.timedelta(days=2)
        )
    )

    def __post_init__(self) -> None:
        self.root_key = ec.generate_private_key(ec.SECP384R1())
        self.issuing_key = ec.generate_private_key(ec.SECP384R1())
        self.ct_key = ec.generate_private_key(ec.SECP256R1())
        self.log_key = ec.generate_private_key(ec.SECP256R1())
        self.root_certificate = self._authority("root", self.root_key, "root", self.root_key, 1)
        self.issuing_certificate = self._authority(
            "issuing", self.issuing_key, "root", self.root_key, 0
        )

    def root(self) -> Json:
        chain = [self.issuing_certificate, self.root_certificate]
        return {
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [_log_instance(self.log_key)],
            "ctlogs": [_log_instance(self.ct_key)],
            "timestampAuthorities": [],
            "certificateAuthorities": [
                {
                    "subject": {"organization": "example.test", "commonName": "root"},
                    "uri": "https://ca.example.test",
                    "certChain": {
                        "certificates": [
                            {"rawBytes": b64(each.public_bytes(_DER))} for each in chain
                        ]
                    },
                    "validFor": {"start": LONG_AGO},
                }
            ],
        }

    def keyless_bundle(
        self,
        said: Json | bytes | None = None,
        *,
        subject: str = SUBJECT,
        issuer: str = ISSUER,
        payload_type: str = PAYLOAD_TYPE,
    ) -> Json:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self.certificate(key, subject=subject, issuer=issuer)
        signed = envelope(key, statement() if said is None else said, payload_type)
        entry = self.dsse_entry(signed, certificate.public_bytes(_PEM))
        return {
            "mediaType": BUNDLE_TYPE,
            "verificationMaterial": {
                "certificate": {"rawBytes": b64(certificate.public_bytes(_DER))},
                "tlogEntries": [entry],
            },
            "dsseEnvelope": signed,
        }

    def logged_key_bundle(self, key: PrivateKey, said: Json | bytes | None = None) -> Json:
        bundle = key_bundle(key, said)
        entry = self.dsse_entry(bundle["dsseEnvelope"], public_pem(key).encode())
        bundle["verificationMaterial"]["tlogEntries"] = [entry]
        return bundle

    def dsse_entry(self, signed: Json, verifier_pem: bytes) -> Json:
        """A Rekor v1 entry for an envelope."""
        payload = base64.b64decode(signed["payload"])
        body = {
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": _sha256(json.dumps(signed).encode()),
                "payloadHash": _sha256(payload),
                "signatures": [
                    {"signature": signed["signatures"][0]["sig"], "verifier": b64(verifier_pem)}
                ],
            },
        }
        return self.entry(body)

    def entry(self, body: Json, *, kind: str | None = None, version: str | None = None) -> Json:
        """The only entry of a log: its leaf's hash is the root hash."""
        canonical = rfc8785.dumps(body)
        leaf = hashlib.sha256(b"\0" + canonical).digest()
        time = int(self.at.timestamp()) + 5
        note = f"log.example.test\n1\n{b64(leaf)}\n"
        log_id = key_id(self.log_key)
        checkpoint = f"{note}\n\N{EM DASH} log.example.test "
        checkpoint += b64(log_id[:4] + sign(self.log_key, note.encode())) + "\n"
        promise: dict[str, Any] = {
            "body": b64(canonical),
            "integratedTime": time,
            "logID": log_id.hex(),
            "logIndex": 0,
        }
        return {
            "logId": {"keyId": b64(log_id)},
            "kindVersion": {"kind": kind or body["kind"], "version": version or body["apiVersion"]},
            "integratedTime": str(time),
            "inclusionPromise": {
                "signedEntryTimestamp": b64(sign(self.log_key, rfc8785.dumps(promise)))
            },
            "inclusionProof": {
                "rootHash": b64(leaf),
                "treeSize": "1",
                "checkpoint": {"envelope": checkpoint},
            },
            "canonicalizedBody": b64(canonical),
        }

    def certificate(self, key: PrivateKey, *, subject: str, issuer: str) -> x509.Certificate:
        """A ten-minute code-signing certificate with an embedded promise of the CT log."""
        builder = self._leaf(key, subject, issuer)
        precertificate = builder.sign(self.issuing_key, hashes.SHA384()).tbs_certificate_bytes
        promise = self._promise(precertificate)
        oid = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
        builder = builder.add_extension(
            x509.UnrecognizedExtension(oid, _octets(promise)), critical=False
        )
        return builder.sign(self.issuing_key, hashes.SHA384())

    def _leaf(self, key: PrivateKey, subject: str, issuer: str) -> x509.CertificateBuilder:
        public = key.public_key()
        names = x509.SubjectAlternativeName(
            [x509.UniformResourceIdentifier(subject)]
            if "://" in subject
            else [x509.RFC822Name(subject)]
        )
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING])
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(
            self.issuing_key.public_key()
        )
        return (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self.issuing_certificate.subject)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.at)
            .not_valid_after(self.at + dt.timedelta(minutes=10))
            .add_extension(_key_usage(signs=True), critical=True)
            .add_extension(usage, critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(authority, critical=False)
            .add_extension(names, critical=True)
            .add_extension(
                x509.UnrecognizedExtension(
                    x509.ObjectIdentifier("1.3.6.1.4.1.57264.1.8"), _utf8_string(issuer)
                ),
                critical=False,
            )
        )

    def _promise(self, precertificate: bytes) -> bytes:
        milliseconds = int(self.at.timestamp() * 1000)
        signed = struct.pack("!BBQH", 0, 0, milliseconds, 1) + key_id(self.issuing_key)
        signed += len(precertificate).to_bytes(3) + precertificate + b"\0\0"
        signature = sign(self.ct_key, signed)
        promise = b"\0" + key_id(self.ct_key) + struct.pack("!Q", milliseconds) + b"\0\0"
        promise += b"\x04\x03" + struct.pack("!H", len(signature)) + signature
        listed = struct.pack("!H", len(promise)) + promise
        return struct.pack("!H", len(listed)) + listed

    def _authority(
        self, name: str, key: PrivateKey, issuer: str, issuer_key: PrivateKey, depth: int
    ) -> x509.Certificate:
        public = key.public_key()
        authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(_name(name))
            .issuer_name(_name(issuer))
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self.at - dt.timedelta(days=30))
            .not_valid_after(self.at + dt.timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=depth), critical=True)
            .add_extension(_key_usage(signs=False), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(authority, critical=False)
            .sign(issuer_key, hashes.SHA384())
        )


def _name(common_name: str) -> x509.Name:
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "example.test"),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
    )


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=not signs,
        crl_sign=not signs,
        encipher_only=False,
        decipher_only=False,
    )


def _log_instance(key: PrivateKey) -> Json:
    return {
        "baseUrl": "https://log.example.test",
        "hashAlgorithm": "SHA2_256",
        "publicKey": {
            "rawBytes": b64(spki(key)),
            "keyDetails": "PKIX_ECDSA_P256_SHA_256",
            "validFor": {"start": LONG_AGO},
        },
        "logId": {"keyId": b64(key_id(key))},
    }


def _sha256(data: bytes) -> Json:
    return {"algorithm": "sha256", "value": hashlib.sha256(data).hexdigest()}


def _utf8_string(text: str) -> bytes:
    return bytes([0x0C, len(text)]) + text.encode()


def _octets(data: bytes) -> bytes:
    length = bytes([len(data)]) if len(data) < 128 else bytes([0x81, len(data)])
    return b"\x04" + length + data
