"""A registry's answers about one repository: manifests, blobs, and what refers to a digest.

Nothing is believed that can be checked: bytes are hashed, sizes are capped, pages are counted.
A 404 means "there is none"; every other failure means "not known" and is an error, since a
registry that is down must never look like one without signatures.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from yarl import URL

from supply_chain.errors import ImageNotFound, RegistryError, UntrustworthyRegistry
from supply_chain.registry.reference import Digest, ImageReference, parse_digest
from supply_chain.registry.transport import Answer, Connection

MAX_MANIFEST_BYTES: Final = 4 * 1024 * 1024
MAX_REFERRERS: Final = 256
MAX_PAGES: Final = 16
_INDEX: Final = "application/vnd.oci.image.index.v1+json"
_MANIFESTS: Final = (
    f"application/vnd.oci.image.manifest.v1+json, {_INDEX}, "
    "application/vnd.docker.distribution.manifest.v2+json, "
    "application/vnd.docker.distribution.manifest.list.v2+json"
)


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A reference to content; its type and annotations are hints and never filters."""

    digest: Digest
    size: int
    media_type: str
    annotations: Mapping[str, str]


class RepositoryClient:
    """Reads one repository through a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def resolve(self, reference: ImageReference) -> Digest:
        """Turn the tag into the digest of the bytes that the registry serves for it now.

        The registry's own word (Docker-Content-Digest) is not asked: the bytes are hashed.
        """
        if reference.digest is not None:
            return reference.digest
        answer = await self._get(f"manifests/{reference.tag}", _MANIFESTS, "manifest")
        if answer.status == 404:
            raise ImageNotFound(
                f"registry {self._where} has no {reference.repository}:{reference.tag}"
            )
        self._require_ok(answer, "manifest")
        _json_object(answer.body, "the manifest", self._where)
        return Digest(f"sha256:{hashlib.sha256(answer.body).hexdigest()}")

    async def manifest(self, digest: Digest) -> dict[str, Any] | None:
        """Return a manifest by digest, None if there is none."""
        answer = await self._get(f"manifests/{digest}", _MANIFESTS, "manifest")
        if answer.status == 404:
            return None
        self._require_ok(answer, "manifest")
        self._require_digest(answer.body, digest, "manifest")
        return _json_object(answer.body, "the manifest", self._where)

    async def blob(self, descriptor: Descriptor) -> bytes:
        """Return a blob whose size and digest are as the manifest says."""
        answer = await self._get(f"blobs/{descriptor.digest}", "*/*", "blob", limit=descriptor.size)
        self._require_ok(answer, "blob")
        self._require_digest(answer.body, descriptor.digest, "blob")
        return answer.body

    async def referrers(self, digest: Digest) -> list[Descriptor]:
        """Return what refers to the digest: by the referrers API, else by the fallback tag."""
        url: URL | None = self._connection.url(f"referrers/{digest}")
        found: list[Descriptor] = []
        for page in range(MAX_PAGES):
            if url is None:
                return found
            answer = await self._connection.get(
                url, accept=_INDEX, what="referrers", limit=MAX_MANIFEST_BYTES
            )
            if page == 0 and answer.status == 404:
                return await self._fallback(digest)
            self._require_ok(answer, "referrers")
            found += self._descriptors(answer.body, "the list of referrers")
            if len(found) > MAX_REFERRERS:
                break
            url = self._next_page(url, answer)
        raise UntrustworthyRegistry(
            f"registry {self._where} lists too many referrers of {digest}: "
            f"expected at most {MAX_REFERRERS} on {MAX_PAGES} pages"
        )

    async def _fallback(self, digest: Digest) -> list[Descriptor]:
        tag = digest.replace(":", "-")
        answer = await self._get(f"manifests/{tag}", _INDEX, "fallback tag")
        if answer.status == 404:
            return []
        self._require_ok(answer, "fallback tag")
        return self._descriptors(answer.body, f"the index {tag}")

    @property
    def _where(self) -> str:
        return self._connection.base.authority

    async def _get(
        self, path: str, accept: str, what: str, *, limit: int = MAX_MANIFEST_BYTES
    ) -> Answer:
        url = self._connection.url(path)
        return await self._connection.get(url, accept=accept, what=what, limit=limit)

    def _descriptors(self, body: bytes, what: str) -> list[Descriptor]:
        listed = _json_object(body, what, self._where).get("manifests")
        if listed is None:
            listed = []
        if not isinstance(listed, list):
            raise UntrustworthyRegistry(f"registry {self._where}: {what} has no list of manifests")
        if len(listed) > MAX_REFERRERS:  # counted first: millions could be listed that are none
            raise UntrustworthyRegistry(
                f"registry {self._where} lists too many referrers: {what} has {len(listed)}, "
                f"expected at most {MAX_REFERRERS}"
            )
        return [each for entry in listed if (each := parse_descriptor(entry)) is not None]

    def _next_page(self, url: URL, answer: Answer) -> URL | None:
        link = answer.headers.get("Link", "")
        target, _, relation = link.partition(">")
        if not target.startswith("<") or 'rel="next"' not in relation:
            return None
        try:
            following = url.join(URL(target[1:]))
            same = following.origin() == url.origin()
        except ValueError:
            same = False
        if not same:
            raise UntrustworthyRegistry(
                f"registry {self._where}: the next page of referrers is on another host"
            )
        return following

    def _require_ok(self, answer: Answer, what: str) -> None:
        if answer.status != 200:
            raise RegistryError(f"registry {self._where} answered HTTP {answer.status} ({what})")

    def _require_digest(self, body: bytes, digest: Digest, what: str) -> None:
        actual = hashlib.sha256(body).hexdigest()
        if f"sha256:{actual}" != digest:
            raise UntrustworthyRegistry(
                f"registry {self._where}: the bytes of the {what} {digest} have the digest "
                f"sha256:{actual}"
            )


def parse_descriptor(raw: object) -> Descriptor | None:
    """Read a descriptor; None for one that we cannot follow, such as a digest of another kind."""
    fields = raw if isinstance(raw, dict) else {}
    digest, size = parse_digest(fields.get("digest")), fields.get("size")
    if digest is None or not isinstance(size, int) or size < 0:
        return None
    annotations = fields.get("annotations")
    return Descriptor(
        digest,
        size,
        str(fields.get("mediaType", "")),
        annotations if isinstance(annotations, dict) else {},
    )


def _json_object(body: bytes, what: str, where: str) -> dict[str, Any]:
    try:
        document = orjson.loads(body)
    except ValueError as error:
        raise UntrustworthyRegistry(f"registry {where}: {what} is not JSON") from error
    if not isinstance(document, dict):
        raise UntrustworthyRegistry(f"registry {where}: {what} is not a JSON object")
    return document
