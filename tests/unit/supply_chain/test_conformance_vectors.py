"""The sigstore-conformance vectors, where they are at hand; they are never copied here.

LEVELSET_VECTORS names the folder; the default is a `shared` folder beside the checkout.
"""

import datetime as dt
import hashlib
import os
from importlib import resources
from pathlib import Path

import pytest
from sigstore.hashes import Hashed
from sigstore_models.common.v1 import HashAlgorithm

from supply_chain.errors import SupplyChainError
from supply_chain.resources import Identity, Matcher
from supply_chain.verify import key_based, keyless, keys
from supply_chain.verify.bundles import ParsedBundle, parse_bundle
from supply_chain.verify.identity import AnyOf
from supply_chain.verify.trust_roots import TrustRoot

ROOT = Path(__file__).resolve().parents[3]
VECTORS = Path(os.environ.get("LEVELSET_VECTORS", ROOT / "../shared/vectors"))
SUITE = VECTORS / "sigstore-conformance"
CASES = sorted(path.name for path in SUITE.iterdir() if path.is_dir()) if SUITE.is_dir() else []
ISSUER = "https://token.actions.githubusercontent.com"
SUBJECT = (
    "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/"
    ".github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main"
)
# Where we differ from the suite, and why.
DIFFERENCES = {
    "intoto-with-custom-trust-root": "log entries of the old kind `intoto` are not supported: "
    "no current signer writes them, and they bind the signature in another way",
}

pytestmark = pytest.mark.skipif(not CASES, reason=f"no vectors in {SUITE}")


@pytest.mark.parametrize("case", CASES)
def test_a_vector_is_judged_as_the_suite_says(case: str) -> None:
    expected = not case.endswith("_fail") and case not in DIFFERENCES

    assert _verifies(SUITE / case) is expected


def _verifies(case: Path) -> bool:
    artifact = case / "artifact"
    digest = hashlib.sha256((artifact if artifact.exists() else SUITE / "a.txt").read_bytes())
    try:
        bundle = parse_bundle((case / "bundle.sigstore.json").read_bytes())
        if (case / "key.pub").exists():
            _verify_by_key(case, bundle, digest.digest())
        else:
            _verify_keyless(case, bundle, digest.digest())
    except SupplyChainError:
        return False
    return True


def _verify_by_key(case: Path, bundle: ParsedBundle, digest: bytes) -> None:
    key = keys.load_public_key(_text(case / "key.pub", ""))
    root = _root(case)
    key_based.verify_sha256(bundle, key, digest, root=root, now=dt.datetime.now(dt.UTC))


def _verify_keyless(case: Path, bundle: ParsedBundle, digest: bytes) -> None:
    identity = Identity(
        Matcher(_text(case / "issuer", ISSUER), None),
        Matcher(_text(case / "identity", SUBJECT), None),
    )
    if bundle.envelope is not None:
        keyless.verify_envelope(bundle, _root(case), (identity,))
        return
    certified = keyless.require_certificate(bundle)
    hashed = Hashed(algorithm=HashAlgorithm.SHA2_256, digest=digest)
    try:
        keyless.verifier_for(bundle, _root(case)).verify_artifact(
            hashed, certified, AnyOf([identity])
        )
    except SupplyChainError:
        raise
    except Exception as error:
        raise SupplyChainError(str(error)) from error


def _root(case: Path) -> TrustRoot:
    production = resources.files("sigstore._store").joinpath(
        "https%3A%2F%2Ftuf-repo-cdn.sigstore.dev", "trusted_root.json"
    )
    return TrustRoot.parse(_text(case / "trusted_root.json", production.read_text()))


def _text(path: Path, default: str) -> str:
    return path.read_text().strip() if path.exists() else default
