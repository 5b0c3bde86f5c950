"""The sigstore bundles that a registry holds for a digest.

Descriptors are opened whatever their artifactType says: fallback indexes and referrers APIs fill
it differently, and filtering on it is how other verifiers came to see "no signatures found".
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from supply_chain.registry.client import Descriptor, RepositoryClient, parse_descriptor
from supply_chain.registry.reference import Digest
from supply_chain.verify.statement import SIGNATURE_PREDICATE

BUNDLE_PREFIX: Final = "application/vnd.dev.sigstore.bundle"
_PREDICATE_ANNOTATION: Final = "dev.sigstore.bundle.predicateType"
MAX_BUNDLES: Final = 64
# Signatures have some 10 KiB. All 64 are in memory at once, for each image that is being judged.
MAX_SIGNATURE_BYTES: Final = 512 * 1024
_PARALLEL: Final = 8


async def fetch_bundles(client: RepositoryClient, digest: Digest) -> list[bytes]:
    """Return the bundles attached to the digest, likely signatures first; at most 64.

    Where there are more, the rest is not looked at: too few to be found is a denial, never a pass.
    """
    descriptors = await client.referrers(digest)
    ordered = sorted(descriptors, key=_is_unlikely)[:MAX_BUNDLES]
    gate = asyncio.Semaphore(_PARALLEL)

    async def fetch(descriptor: Descriptor) -> bytes | None:
        async with gate:
            return await _bundle(client, descriptor, digest)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(fetch(descriptor)) for descriptor in ordered]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures
    return [bundle for task in tasks if (bundle := task.result()) is not None]


def _is_unlikely(descriptor: Descriptor) -> bool:
    return descriptor.annotations.get(_PREDICATE_ANNOTATION) != SIGNATURE_PREDICATE


async def _bundle(client: RepositoryClient, descriptor: Descriptor, digest: Digest) -> bytes | None:
    manifest = await client.manifest(descriptor.digest)
    if manifest is None or not _refers_to(manifest, digest):
        return None
    layers = manifest.get("layers")
    layer = _bundle_layer(layers) if isinstance(layers, list) else None
    # A signature is small. What is larger is an attestation, and no business of admission.
    if layer is None or layer.size > MAX_SIGNATURE_BYTES:
        return None
    return await client.blob(layer)


def _bundle_layer(layers: Sequence[Any]) -> Descriptor | None:
    if len(layers) != 1:
        return None
    layer = parse_descriptor(layers[0])
    return layer if layer and layer.media_type.startswith(BUNDLE_PREFIX) else None


def _refers_to(manifest: dict[str, Any], digest: Digest) -> bool:
    subject = manifest.get("subject")
    return isinstance(subject, dict) and subject.get("digest") == digest
