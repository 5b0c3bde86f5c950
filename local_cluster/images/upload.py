"""Pushes an image to a registry by the OCI distribution API: blobs that are missing, then the manifest.

Called by the demo and the tests; needs no container tool. Uploads are monolithic, since everything is in memory.
"""

import io
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from yarl import URL

from local_cluster.errors import ClusterError
from local_cluster.images.build import Blob, Image

_TIMEOUT_SECONDS = 60.0


class PushError(ClusterError):
    """The registry refused a blob or a manifest, or does not answer."""

    reason = "ImagePush"


async def push(
    registry_url: str,
    repository: str,
    image: Image,
    tag: str,
    *,
    credentials: tuple[str, str] | None = None,
    ca_file: Path | None = None,
) -> str:
    """Push `image` as REPOSITORY:TAG and return its digest; PushError says what was refused."""
    base = f"{registry_url}/v2/{repository}"
    async with _session(registry_url, credentials, ca_file) as session:
        for blob in (image.config, *image.layers):
            await _push_blob(session, base, blob)
        headers = {"Content-Type": image.manifest.media_type}
        async with session.put(
            f"{base}/manifests/{tag}", data=image.manifest.content, headers=headers
        ) as answer:
            await _expect(answer, 201)
    return image.digest


@asynccontextmanager
async def _session(
    registry_url: str, credentials: tuple[str, str] | None, ca_file: Path | None
) -> AsyncIterator[aiohttp.ClientSession]:
    trust = ssl.create_default_context(cafile=ca_file) if ca_file else True
    headers = {"Authorization": aiohttp.encode_basic_auth(*credentials)} if credentials else {}
    timeout = aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)
    connector = aiohttp.TCPConnector(ssl=trust)
    try:
        async with aiohttp.ClientSession(
            headers=headers, timeout=timeout, connector=connector
        ) as session:
            yield session
    except (aiohttp.ClientError, TimeoutError) as error:
        raise PushError(f"registry {registry_url} does not answer: {error!r}") from error


async def _push_blob(session: aiohttp.ClientSession, base: str, blob: Blob) -> None:
    async with session.head(f"{base}/blobs/{blob.digest}") as answer:
        if answer.status == 200:
            return
    async with session.post(f"{base}/blobs/uploads/") as answer:
        await _expect(answer, 202)
        location = answer.url.join(URL(answer.headers["Location"], encoded=True))
    upload = location.update_query(digest=blob.digest)
    headers = {"Content-Type": "application/octet-stream"}
    async with session.put(upload, data=io.BytesIO(blob.content), headers=headers) as answer:
        await _expect(answer, 201)


async def _expect(answer: aiohttp.ClientResponse, status: int) -> None:
    if answer.status != status:
        body = (await answer.text())[:300]
        raise PushError(
            f"{answer.method} {answer.url.path}: expected {status}, found {answer.status}: {body.strip()}"
        )
