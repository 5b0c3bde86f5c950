"""The registry keeps what was pushed under its digest, and cosign's signatures beside it."""

import json
from pathlib import Path

import aiohttp
import pytest

from local_cluster import images
from local_cluster.errors import ProgramFailed
from local_cluster.services.registry import Registry
from local_cluster.services.signing import Cosign, SigningError

pytestmark = pytest.mark.contract

IMAGE = images.build_image([[images.File("/web", b"program", mode=0o755)]], entrypoint=["/web"])
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
ACCEPT = {"Accept": f"{MANIFEST}, application/vnd.oci.image.index.v1+json"}


async def fetch(url: str) -> tuple[int, bytes]:
    timeout = aiohttp.ClientTimeout(total=10)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.get(url, headers=ACCEPT) as answer,
    ):
        return answer.status, await answer.read()


async def test_a_pushed_image_is_pulled_by_its_digest(registry: Registry) -> None:
    digest = await images.push(registry.url, "team/web", IMAGE, "v1")

    by_digest = await fetch(f"{registry.url}/v2/team/web/manifests/{digest}")
    by_tag = await fetch(f"{registry.url}/v2/team/web/manifests/v1")
    layer = await fetch(f"{registry.url}/v2/team/web/blobs/{IMAGE.layers[0].digest}")

    assert by_digest == by_tag == (200, IMAGE.manifest.content)
    assert layer == (200, IMAGE.layers[0].content)


async def test_pushing_again_changes_nothing(registry: Registry) -> None:
    first = await images.push(registry.url, "web", IMAGE, "v1")
    second = await images.push(registry.url, "web", IMAGE, "v1")

    assert first == second == IMAGE.digest


async def test_a_password_is_asked_for_when_there_is_one(tmp_path: Path) -> None:
    async with Registry.start(tmp_path, auth=True) as registry:
        assert registry.user is not None
        assert registry.password is not None
        credentials = (registry.user, registry.password)

        with pytest.raises(images.PushError, match="expected 202, found 401"):
            await images.push(registry.url, "web", IMAGE, "v1")
        digest = await images.push(registry.url, "web", IMAGE, "v1", credentials=credentials)

        assert digest == IMAGE.digest
        assert registry.password not in repr(registry)


async def test_tls_needs_the_registrys_authority(tmp_path: Path) -> None:
    async with Registry.start(tmp_path, tls=True) as registry:
        assert registry.tls is not None

        with pytest.raises(images.PushError, match="does not answer"):
            await images.push(registry.url, "web", IMAGE, "v1")
        digest = await images.push(registry.url, "web", IMAGE, "v1", ca_file=registry.tls.ca)

    assert digest == IMAGE.digest


async def test_a_registry_that_cannot_start_says_its_last_words(tmp_path: Path) -> None:
    (tmp_path / "blobs").write_text("a file where the folder of the blobs belongs")

    async with Registry.start(tmp_path) as registry:  # it starts, and fails at the first write
        with pytest.raises(images.PushError, match=r"500|not a directory"):
            await images.push(registry.url, "web", IMAGE, "v1")

    with pytest.raises(ProgramFailed, match="registry"):
        registry.program.raise_failure("ended")


async def test_a_signed_digest_verifies_and_another_does_not(
    registry: Registry, cosign: Cosign
) -> None:
    other = images.build_image([[images.File("/web", b"other")]], entrypoint=["/web"])
    signed = await images.push(registry.url, "web", IMAGE, "v1")
    unsigned = await images.push(registry.url, "web", other, "v2")

    await cosign.sign(f"{registry.address}/web@{signed}")

    await cosign.verify(f"{registry.address}/web@{signed}")
    with pytest.raises(SigningError, match=r"no signatures found|no matching"):
        await cosign.verify(f"{registry.address}/web@{unsigned}")


async def test_a_signature_by_another_key_does_not_verify(
    registry: Registry, cosign: Cosign, tmp_path: Path
) -> None:
    other = await Cosign.create(tmp_path / "other", program=cosign.program)
    digest = await images.push(registry.url, "web", IMAGE, "v1")

    await cosign.sign(f"{registry.address}/web@{digest}")

    with pytest.raises(SigningError):
        await cosign.verify(f"{registry.address}/web@{digest}", key=other.public_key)


async def test_a_tag_is_not_signed(cosign: Cosign) -> None:
    with pytest.raises(SigningError, match="digest"):
        await cosign.sign("127.0.0.1:5000/web:v1")


async def test_the_signature_is_a_bundle_under_the_fallback_tag(
    registry: Registry, cosign: Cosign
) -> None:
    digest = await images.push(registry.url, "web", IMAGE, "v1")

    await cosign.sign(f"{registry.address}/web@{digest}")

    base = f"{registry.url}/v2/web"
    _, index = await fetch(f"{base}/manifests/{digest.replace(':', '-')}")
    referrer = json.loads(index)["manifests"][0]
    _, manifest = await fetch(f"{base}/manifests/{referrer['digest']}")
    layer = json.loads(manifest)["layers"][0]
    _, bundle = await fetch(f"{base}/blobs/{layer['digest']}")
    assert layer["mediaType"] == "application/vnd.dev.sigstore.bundle.v0.3+json"
    assert json.loads(manifest)["subject"]["digest"] == digest
    assert "dsseEnvelope" in json.loads(bundle)
    assert "tlogEntries" not in json.loads(bundle)["verificationMaterial"]
