"""Signatures by keys and by identities: what counts, and every way in which it must not."""

import base64
import datetime as dt
import hashlib
import json
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa, x25519

from supply_chain.errors import InvalidPolicy, VerificationFailed
from supply_chain.plan.regexes import Regex
from supply_chain.registry.reference import Digest
from supply_chain.resources import Identity, Matcher
from supply_chain.verify import authorities, key_based, keys
from supply_chain.verify.bundles import parse_bundle
from supply_chain.verify.trust_roots import TrustRoot
from tests.unit.supply_chain import private_sigstore as lab

NOW = dt.datetime.now(dt.UTC)
SIGSTORE = lab.PrivateSigstore()
KEY = ec.generate_private_key(ec.SECP256R1())


def root_of(document: lab.Json) -> TrustRoot:
    return TrustRoot.parse(json.dumps(document))


ROOT = root_of(SIGSTORE.root())


def by_key(key: lab.PrivateKey = KEY, root: TrustRoot | None = None) -> authorities.ReadyKey:
    return authorities.ReadyKey("key", keys.load_public_key(lab.public_pem(key)), root)


def by_identity(
    subject: Matcher | None = None, issuer: Matcher | None = None, root: TrustRoot = ROOT
) -> authorities.ReadyKeyless:
    identity = Identity(issuer or Matcher(lab.ISSUER, None), subject or Matcher(lab.SUBJECT, None))
    return authorities.ReadyKeyless("identity", (identity,), root)


def why_not(
    authority: authorities.ReadyAuthority, *bundles: lab.Json | bytes, digest: str = lab.DIGEST
) -> str:
    """The reason of the refusal, "" if the signature counts."""
    raw = [bundle if isinstance(bundle, bytes) else lab.raw(bundle) for bundle in bundles]
    [finding] = authorities.examine([authority], raw, Digest(digest), now=NOW)
    return "" if finding.is_satisfied else finding.why


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP384R1()),
        ec.generate_private_key(ec.SECP521R1()),
        rsa.generate_private_key(65537, 2048),
        ed25519.Ed25519PrivateKey.generate(),
    ],
    ids=["p256", "p384", "p521", "rsa", "ed25519"],
)
def test_a_signature_by_the_key_counts_and_one_by_another_key_does_not(
    key: lab.PrivateKey,
) -> None:
    other = ec.generate_private_key(ec.SECP256R1())

    assert why_not(by_key(key), lab.key_bundle(key)) == ""
    assert "not made with the policy's key" in why_not(by_key(key), lab.key_bundle(other))


@pytest.mark.parametrize(
    "pem",
    [
        "",
        "no key",
        lab.public_pem(KEY) * 2,
        lab.public_pem(KEY).replace("PUBLIC KEY", "CERTIFICATE"),
        lab.public_pem(ec.generate_private_key(ec.SECP256K1())),
    ],
    ids=["empty", "text", "two keys", "wrong label", "unknown curve"],
)
def test_a_key_that_is_none_makes_the_policy_invalid(pem: str) -> None:
    with pytest.raises(InvalidPolicy):
        keys.load_public_key(pem)


def test_an_image_without_signatures_is_not_signed() -> None:
    assert why_not(by_key()) == "it is not signed"


def test_a_signature_of_another_digest_does_not_count() -> None:
    other = "sha256:" + "cd" * 32

    assert "the signature is for sha256:abab" in why_not(
        by_key(), lab.key_bundle(KEY), digest=other
    )


@pytest.mark.parametrize("digests", [{"sha512": "ab" * 64}, {"sha256": "AB" * 32}, {"sha256": 7}])
def test_only_a_sha256_in_lower_case_names_the_image(digests: dict[str, Any]) -> None:
    said = lab.statement(subject=[{"digest": digests}])

    assert "no sha256 digest" in why_not(by_key(), lab.key_bundle(KEY, said))


@pytest.mark.parametrize("version", ["v1", "v0.1"])
def test_both_statement_versions_are_read_and_unknown_digest_names_are_passed_over(
    version: str,
) -> None:
    subject = {"name": "app", "digest": {"sha256": "ab" * 32, "gitCommit": "c" * 40}}
    said = lab.statement(_type=f"https://in-toto.io/Statement/{version}", subject=[subject])

    assert why_not(by_key(), lab.key_bundle(KEY, said)) == ""


def test_an_attestation_by_the_right_key_is_not_a_signature() -> None:
    said = lab.statement(predicate_type="https://spdx.dev/Document")

    why = why_not(by_key(), lab.key_bundle(KEY, said))

    assert why == "there is an attestation (https://spdx.dev/Document) and no signature"


def test_a_signature_beside_an_attestation_and_foreign_signatures_counts() -> None:
    attestation = lab.key_bundle(KEY, lab.statement(predicate_type="https://spdx.dev/Document"))
    foreign = lab.key_bundle(ec.generate_private_key(ec.SECP256R1()))

    assert why_not(by_key(), attestation, b"{", foreign, lab.key_bundle(KEY)) == ""


def test_an_envelope_of_another_payload_type_is_not_a_signature() -> None:
    bundle = lab.key_bundle(KEY, payload_type="text/plain")

    assert "payload type is 'text/plain'" in why_not(by_key(), bundle)


def test_a_repeated_key_in_the_signed_statement_is_refused() -> None:
    text = json.dumps(lab.statement())
    twice = text.replace('"predicate": {}', '"predicate": {}, "predicateType": "other"')

    assert "a key stands twice" in why_not(by_key(), lab.key_bundle(KEY, twice.encode()))


@pytest.mark.parametrize(
    "payload",
    [b"", b"null", b"[]", b"{", b"[" * 100_000, b'{"_type":NaN}', b'{"a":1}', b"\xff"],
)
def test_a_signed_payload_that_is_no_statement_is_refused(payload: bytes) -> None:
    assert why_not(by_key(), lab.key_bundle(KEY, payload))


@pytest.mark.parametrize(
    "bundle",
    [b"", b"null", b"[]", b"{}", b"{", b"[" * 100_000, b"\xff\xfe", b'{"a":1,"a":1}'],
)
def test_what_is_no_bundle_is_refused_cleanly(bundle: bytes) -> None:
    assert why_not(by_key(), bundle).startswith(("the bundle is malformed", "the bundle is not"))


def test_a_bundle_of_half_a_million_log_entries_costs_no_time() -> None:
    entries = b",".join([b"{}"] * 500_000)
    bundle = b'{"verificationMaterial":{"tlogEntries":[' + entries + b"]}}"

    began = time.process_time()

    assert "values, found more" in why_not(by_key(), bundle)
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("mediaType", "application/vnd.dev.sigstore.bundle.v9+json"),
        ("dsseEnvelope.signatures", []),
        ("verificationMaterial", {}),
        ("verificationMaterial.tlogEntries", "none"),
        ("extra", 1),
    ],
)
def test_a_bundle_that_says_what_it_must_not_is_refused(path: str, value: Any) -> None:
    assert "malformed" in why_not(by_key(), lab.changed(lab.key_bundle(KEY), path, value))


@pytest.mark.parametrize("part", ["dsseEnvelope.signatures.0.sig", "dsseEnvelope.payload"])
def test_every_flipped_bit_of_signature_and_payload_is_noticed(part: str) -> None:
    bundle = lab.key_bundle(KEY)
    content: Any = bundle
    for step in part.split("."):
        content = content[int(step) if step.isdigit() else step]
    intact = base64.b64decode(content)

    for position in range(len(intact) * 8):
        flipped = bytearray(intact)
        flipped[position // 8] ^= 1 << position % 8
        assert why_not(by_key(), lab.changed(bundle, part, lab.b64(bytes(flipped))))


@pytest.mark.parametrize(
    ("path", "text"),
    [("dsseEnvelope.payloadType", lab.PAYLOAD_TYPE), ("mediaType", lab.BUNDLE_TYPE)],
)
def test_every_flipped_bit_of_a_type_is_noticed(path: str, text: str) -> None:
    bundle = lab.key_bundle(KEY)

    for position in range(len(text) * 7):
        flipped = bytearray(text.encode())
        flipped[position // 7] ^= 1 << position % 7
        assert why_not(by_key(), lab.changed(bundle, path, flipped.decode()))


def test_a_signed_statement_with_another_predicate_type_is_no_signature() -> None:
    for position in range(len(lab.SIGN_PREDICATE) * 7):
        flipped = bytearray(lab.SIGN_PREDICATE.encode())
        flipped[position // 7] ^= 1 << position % 7
        said = lab.statement(predicate_type=flipped.decode())
        assert "and no signature" in why_not(by_key(), lab.key_bundle(KEY, said))


def test_where_the_log_is_required_a_signature_must_stand_in_it() -> None:
    logged = SIGSTORE.logged_key_bundle(KEY)

    assert why_not(by_key(root=ROOT), logged) == ""
    assert "expected exactly one entry" in why_not(by_key(root=ROOT), lab.key_bundle(KEY))
    assert why_not(by_key(root=root_of(lab.PrivateSigstore().root())), logged)


def test_a_log_entry_of_another_signature_is_noticed() -> None:
    """CVE-2022-23649 and CVE-2026-22703: a valid entry pasted onto a signature."""
    other = SIGSTORE.logged_key_bundle(KEY, lab.statement(predicate={"again": True}))
    pasted = lab.changed(
        SIGSTORE.logged_key_bundle(KEY),
        "verificationMaterial.tlogEntries",
        other["verificationMaterial"]["tlogEntries"],
    )

    assert "another signature, key or payload" in why_not(by_key(root=ROOT), pasted)


def test_a_log_entry_that_names_another_key_is_noticed() -> None:
    bundle = lab.key_bundle(KEY)
    other = lab.public_pem(ec.generate_private_key(ec.SECP256R1())).encode()
    entry = SIGSTORE.dsse_entry(bundle["dsseEnvelope"], other)
    bundle["verificationMaterial"]["tlogEntries"] = [entry]

    assert "another signature, key or payload" in why_not(by_key(root=ROOT), bundle)


def test_a_log_entry_of_a_kind_that_says_too_little_is_refused() -> None:
    bundle = lab.key_bundle(KEY)
    body = {"apiVersion": "0.0.1", "kind": "helm", "spec": {}}
    bundle["verificationMaterial"]["tlogEntries"] = [SIGSTORE.entry(body)]

    assert "kind helm 0.0.1 are not supported" in why_not(by_key(root=ROOT), bundle)


@pytest.mark.parametrize(
    "field",
    [
        "canonicalizedBody",
        "inclusionPromise.signedEntryTimestamp",
        "inclusionProof.rootHash",
        "logId.keyId",
    ],
)
@pytest.mark.parametrize("kind", ["key", "keyless"])
def test_a_tampered_log_entry_is_noticed(kind: str, field: str) -> None:
    is_key = kind == "key"
    bundle = SIGSTORE.logged_key_bundle(KEY) if is_key else SIGSTORE.keyless_bundle()
    entry: Any = bundle["verificationMaterial"]["tlogEntries"][0]
    for step in field.split("."):
        entry = entry[step]
    flipped = bytearray(base64.b64decode(entry))
    flipped[len(flipped) // 2] ^= 1

    path = f"verificationMaterial.tlogEntries.0.{field}"
    tampered = lab.changed(bundle, path, lab.b64(bytes(flipped)))

    assert why_not(by_key(root=ROOT) if is_key else by_identity(), tampered)


def test_a_signature_by_the_identity_counts() -> None:
    assert why_not(by_identity(), SIGSTORE.keyless_bundle()) == ""
    person = SIGSTORE.keyless_bundle(subject="dev@example.test")
    assert why_not(by_identity(Matcher("dev@example.test", None)), person) == ""


def test_a_pattern_must_fit_the_whole_subject() -> None:
    bundle = SIGSTORE.keyless_bundle()
    repository = r"https://github\.com/acme/[^/]+/\.github/workflows/release\.yml@refs/heads/main"

    assert why_not(by_identity(Matcher(None, Regex(repository))), bundle) == ""
    assert why_not(by_identity(Matcher(None, Regex(r"https://github\.com/acme"))), bundle)


@pytest.mark.parametrize(
    "authority",
    [
        by_identity(subject=Matcher("https://github.com/evil/app", None)),
        by_identity(issuer=Matcher("https://issuer.example.test", None)),
    ],
    ids=["subject", "issuer"],
)
def test_a_signature_by_another_identity_names_who_signed(
    authority: authorities.ReadyKeyless,
) -> None:
    why = why_not(authority, SIGSTORE.keyless_bundle())

    assert lab.SUBJECT in why
    assert "expected subject" in why


def test_issuer_and_subject_of_two_identities_do_not_add_up() -> None:
    half = (
        Identity(Matcher(lab.ISSUER, None), Matcher("https://other.example.test", None)),
        Identity(Matcher("https://other.example.test", None), Matcher(lab.SUBJECT, None)),
    )

    assert why_not(authorities.ReadyKeyless("half", half, ROOT), SIGSTORE.keyless_bundle())


def test_a_signature_under_another_root_does_not_count() -> None:
    assert why_not(by_identity(), lab.PrivateSigstore().keyless_bundle())


@pytest.mark.parametrize(
    "where",
    [
        ("certificateAuthorities", 0, "validFor"),
        ("tlogs", 0, "publicKey", "validFor"),
        ("ctlogs", 0, "publicKey", "validFor"),
    ],
    ids=["authority", "log", "certificate log"],
)
@pytest.mark.parametrize(
    "valid_for",
    [
        {"start": lab.LONG_AGO, "end": "2021-01-01T00:00:00Z"},
        {"start": "2099-01-01T00:00:00Z"},
    ],
    ids=["ended before", "starts later"],
)
def test_what_the_root_held_invalid_at_the_signing_does_not_count(
    where: tuple[str | int, ...], valid_for: lab.Json
) -> None:
    """sigstore-python 4.5.1 accepts an authority, and a log, whose time was over."""
    path = ".".join(map(str, where))
    root = root_of(lab.changed(SIGSTORE.root(), path, valid_for))

    why = why_not(by_identity(root=root), SIGSTORE.keyless_bundle())

    assert "of the trust root was valid at" in why


def test_the_ends_of_a_validity_belong_to_it() -> None:
    integrated = (SIGSTORE.at + dt.timedelta(seconds=5)).isoformat().replace("+00:00", "Z")
    closed = {"start": integrated, "end": integrated}
    root = root_of(lab.changed(SIGSTORE.root(), "tlogs.0.publicKey.validFor", closed))

    assert why_not(by_identity(root=root), SIGSTORE.keyless_bundle()) == ""
    assert why_not(by_key(root=root), SIGSTORE.logged_key_bundle(KEY)) == ""


@pytest.mark.parametrize("part", ["tlogs", "ctlogs", "certificateAuthorities"])
def test_a_root_without_a_part_that_is_needed_refuses(part: str) -> None:
    root = root_of(lab.changed(SIGSTORE.root(), part, []))

    assert why_not(by_identity(root=root), SIGSTORE.keyless_bundle())


def test_a_key_signature_does_not_satisfy_an_identity_nor_the_other_way_round() -> None:
    assert "signature is by a key" in why_not(by_identity(), SIGSTORE.logged_key_bundle(KEY))
    assert "signature is by a certificate" in why_not(by_key(), SIGSTORE.keyless_bundle())


def test_a_keyless_bundle_without_a_log_entry_is_refused() -> None:
    bundle = lab.changed(SIGSTORE.keyless_bundle(), "verificationMaterial.tlogEntries", [])

    assert why_not(by_identity(), bundle) == "transparency log: no entry"


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"mediaType":"x"}', "null"])
def test_what_is_no_trust_root_makes_the_policy_invalid(text: str) -> None:
    with pytest.raises(InvalidPolicy, match=r"not a trusted_root\.json"):
        TrustRoot.parse(text)


def rekor_v2_bundle(key: lab.PrivateKey, algorithm: str, digest: str) -> lab.Json:
    """A bundle whose entry is Rekor v2's: no time in it, the key as DER, the hash of the PAE."""
    bundle = lab.key_bundle(key)
    signed = bundle["dsseEnvelope"]
    message = lab.pae(signed["payloadType"], base64.b64decode(signed["payload"]))
    verifier = {"publicKey": {"rawBytes": lab.b64(lab.spki(key))}, "keyDetails": "any"}
    record = {
        "data": {"algorithm": algorithm, "digest": lab.b64(hashlib.new(digest, message).digest())},
        "signature": {"content": signed["signatures"][0]["sig"], "verifier": verifier},
    }
    body = {
        "apiVersion": "0.0.2",
        "kind": "hashedrekord",
        "spec": {"hashedRekordV002": record},
    }
    entry = SIGSTORE.entry(body)
    del entry["integratedTime"], entry["inclusionPromise"]
    bundle["verificationMaterial"]["tlogEntries"] = [entry]
    return bundle


@pytest.mark.parametrize(
    ("curve", "algorithm", "digest"),
    [(ec.SECP256R1(), "SHA2_256", "sha256"), (ec.SECP384R1(), "SHA2_384", "sha384")],
    ids=["p256", "p384"],
)
def test_an_entry_without_a_time_counts_while_its_log_is_valid_today(
    curve: ec.EllipticCurve, algorithm: str, digest: str
) -> None:
    key = ec.generate_private_key(curve)
    bundle = rekor_v2_bundle(key, algorithm, digest)
    yesterday = (NOW - dt.timedelta(days=1)).isoformat().replace("+00:00", "Z")
    ended = {"start": lab.LONG_AGO, "end": yesterday}
    closed = root_of(lab.changed(SIGSTORE.root(), "tlogs.0.publicKey.validFor", ended))

    assert why_not(by_key(key, ROOT), bundle) == ""
    assert "no log of the trust root was valid" in why_not(by_key(key, closed), bundle)


@pytest.mark.parametrize(("algorithm", "digest"), [("SHA2_384", "sha256"), ("SHA2_256", "md5")])
def test_an_entry_about_another_hash_is_noticed(algorithm: str, digest: str) -> None:
    bundle = rekor_v2_bundle(KEY, algorithm, digest)

    assert "another signature, key or payload" in why_not(by_key(root=ROOT), bundle)


@pytest.mark.parametrize(
    "spec",
    [{}, {"payloadHash": 7, "signatures": []}, {"payloadHash": {}, "signatures": [{}, {}]}, 7],
)
def test_an_entry_whose_body_is_malformed_is_refused(spec: Any) -> None:
    bundle = lab.key_bundle(KEY)
    body = {"apiVersion": "0.0.1", "kind": "dsse", "spec": spec}
    bundle["verificationMaterial"]["tlogEntries"] = [SIGSTORE.entry(body)]

    assert "the entry's body is malformed" in why_not(by_key(root=ROOT), bundle)


def test_an_entry_whose_body_is_of_another_kind_than_it_says_is_noticed() -> None:
    bundle = SIGSTORE.logged_key_bundle(KEY)
    entry = bundle["verificationMaterial"]["tlogEntries"][0]
    entry["kindVersion"] = {"kind": "hashedrekord", "version": "0.0.2"}

    assert "another signature, key or payload" in why_not(by_key(root=ROOT), bundle)


def test_timestamps_that_are_none_or_too_many_are_refused() -> None:
    def stamped(*tokens: bytes) -> lab.Json:
        stamps = [{"signedTimestamp": lab.b64(token)} for token in tokens]
        return lab.changed(
            SIGSTORE.logged_key_bundle(KEY),
            "verificationMaterial.timestampVerificationData",
            {"rfc3161Timestamps": stamps},
        )

    assert "a timestamp does not parse" in why_not(by_key(root=ROOT), stamped(b"no token"))
    assert "malformed" in why_not(by_key(), stamped(b"a", b"a"))
    assert "malformed" in why_not(by_key(), stamped(*(bytes([n]) for n in range(33))))


def test_a_bundle_that_brings_its_own_root_is_refused() -> None:
    bundle = SIGSTORE.keyless_bundle()
    leaf = bundle["verificationMaterial"].pop("certificate")
    root = {"rawBytes": lab.b64(SIGSTORE.root_certificate.public_bytes(lab._DER))}
    bundle["mediaType"] = "application/vnd.dev.sigstore.bundle+json;version=0.2"
    bundle["verificationMaterial"]["x509CertificateChain"] = {"certificates": [leaf, root]}

    assert "it contains a self-signed certificate" in why_not(by_identity(), bundle)


def test_bare_bytes_are_signed_for_blobs_and_not_for_images() -> None:
    digest = hashlib.sha256(b"blob").digest()
    message = {
        "messageDigest": {"algorithm": "SHA2_256", "digest": lab.b64(digest)},
        "signature": lab.b64(lab.sign(KEY, b"blob")),
    }
    bundle = lab.key_bundle(KEY)
    del bundle["dsseEnvelope"]
    bundle["messageSignature"] = message
    parsed = parse_bundle(lab.raw(bundle))
    other = ec.generate_private_key(ec.SECP256R1()).public_key()

    assert "expected a DSSE envelope" in why_not(by_key(), bundle)
    key_based.verify_sha256(parsed, KEY.public_key(), digest, root=None, now=NOW)
    for key, sha256 in ((other, digest), (KEY.public_key(), b"\0" * 32)):
        with pytest.raises(VerificationFailed):
            key_based.verify_sha256(parsed, key, sha256, root=None, now=NOW)


@pytest.mark.parametrize(
    "key",
    [rsa.generate_private_key(65537, 1024), x25519.X25519PrivateKey.generate()],
    ids=["short RSA", "no signing key"],
)
def test_a_key_that_is_too_weak_or_of_another_use_is_refused(key: Any) -> None:
    with pytest.raises(InvalidPolicy):
        keys.load_public_key(lab.public_pem(key))


def test_signatures_by_several_keys_are_told_apart() -> None:
    second = ec.generate_private_key(ec.SECP256R1())
    raw = [lab.raw(lab.key_bundle(second))]
    ready = [by_key(), by_key(second)]

    first, other = authorities.examine(ready, raw, Digest(lab.DIGEST), now=NOW)

    assert (first.is_satisfied, other.is_satisfied) == (False, True)
