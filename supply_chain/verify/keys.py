"""Public keys as cosign makes and takes them, and signatures by them.

The hash follows from the key and is never taken from the signed material: P-256 with SHA-256,
P-384 with SHA-384, P-521 with SHA-512, RSA (PKCS #1 v1.5) with SHA-256, Ed25519 with none.
"""

from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from supply_chain.errors import InvalidPolicy, VerificationFailed

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | ed25519.Ed25519PublicKey

_MIN_RSA_BITS: Final = 2048
_EC_HASHES: Final[dict[str, hashes.HashAlgorithm]] = {
    "secp256r1": hashes.SHA256(),
    "secp384r1": hashes.SHA384(),
    "secp521r1": hashes.SHA512(),
}


def load_public_key(pem: str) -> PublicKey:
    """Load one PEM public key; raises InvalidPolicy, since keys come from policies."""
    if pem.count("-----BEGIN ") != 1:
        raise InvalidPolicy("expected exactly one PEM block, BEGIN PUBLIC KEY")
    try:
        key = serialization.load_pem_public_key(pem.strip().encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InvalidPolicy(f"not a PEM public key: {error}") from error
    return _supported(key)


def _supported(key: object) -> PublicKey:
    if isinstance(key, ec.EllipticCurvePublicKey):
        if key.curve.name not in _EC_HASHES:
            raise InvalidPolicy(f"curve {key.curve.name}: expected P-256, P-384 or P-521")
        return key
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < _MIN_RSA_BITS:
            raise InvalidPolicy(f"RSA of {key.key_size} bits: expected at least {_MIN_RSA_BITS}")
        return key
    if isinstance(key, ed25519.Ed25519PublicKey):
        return key
    raise InvalidPolicy(f"{type(key).__name__}: expected an ECDSA, RSA or Ed25519 key")


def hash_of(key: PublicKey) -> hashes.HashAlgorithm | None:
    """Return the hash that goes with the key, None for Ed25519."""
    match key:
        case ec.EllipticCurvePublicKey():
            return _EC_HASHES[key.curve.name]
        case rsa.RSAPublicKey():
            return hashes.SHA256()
        case _:
            return None


def spki_der(key: PublicKey) -> bytes:
    """Return the key in the one encoding that keys are compared in."""
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def verify_signature(key: PublicKey, signature: bytes, data: bytes) -> None:
    """Check a signature; raises VerificationFailed (reason WrongKey)."""
    try:
        match key:
            case ec.EllipticCurvePublicKey():
                key.verify(signature, data, ec.ECDSA(_EC_HASHES[key.curve.name]))
            case rsa.RSAPublicKey():
                key.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
            case _:
                key.verify(signature, data)
    except InvalidSignature as error:
        raise VerificationFailed(
            "the signature was not made with the policy's key", reason="WrongKey"
        ) from error
