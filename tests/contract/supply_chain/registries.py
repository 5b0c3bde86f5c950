"""Registries of the tests' own: attaching bundles to real ones, and playing hostile ones."""

import asyncio
import hashlib
import threading
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self

import aiohttp
import orjson
from aiohttp import web

from tests.contract.supply_chain.harness import Json, Pushed

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
BUNDLE = "application/vnd.dev.sigstore.bundle.v0.3+json"
EMPTY = "application/vnd.oci.empty.v1+json"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def attach(image: Pushed, *bundles: bytes, layer_type: str = BUNDLE) -> None:
    """Attach bundles as a client does where there is no referrers API: by the fallback tag."""
    asyncio.run(_attach(image, bundles, layer_type))


async def _attach(image: Pushed, bundles: tuple[bytes, ...], layer_type: str) -> None:
    base = f"http://{image.host}/v2/{image.repository}"
    descriptors = []
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=20)) as session:
        for bundle in bundles:
            manifest = bundle_manifest(image.digest, bundle, layer_type)
            for blob in (b"{}", bundle):
                await _put_blob(session, base, blob)
            await _put_manifest(session, base, sha256(manifest), manifest, MANIFEST)
            descriptors.append(_descriptor(manifest, MANIFEST))
        index = {"schemaVersion": 2, "mediaType": INDEX, "manifests": descriptors}
        tag = image.digest.replace(":", "-")
        await _put_manifest(session, base, tag, orjson.dumps(index), INDEX)


def bundle_manifest(digest: str, bundle: bytes, layer_type: str = BUNDLE) -> bytes:
    return orjson.dumps(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "artifactType": BUNDLE,
            "config": _descriptor(b"{}", EMPTY),
            "layers": [_descriptor(bundle, layer_type)],
            "subject": {"mediaType": MANIFEST, "digest": digest, "size": 1},
        }
    )


def _descriptor(content: bytes, media_type: str) -> Json:
    return {"mediaType": media_type, "digest": sha256(content), "size": len(content)}


async def _put_blob(session: aiohttp.ClientSession, base: str, blob: bytes) -> None:
    async with session.post(f"{base}/blobs/uploads/") as answer:
        assert answer.status == 202
        location = answer.headers["Location"]
    joiner = "&" if "?" in location else "?"
    url = f"{location}{joiner}digest={sha256(blob)}"
    async with session.put(url, data=blob) as answer:
        assert answer.status == 201, await answer.text()


async def _put_manifest(
    session: aiohttp.ClientSession, base: str, name: str, content: bytes, media_type: str
) -> None:
    headers = {"Content-Type": media_type}
    async with session.put(f"{base}/manifests/{name}", data=content, headers=headers) as answer:
        assert answer.status == 201, await answer.text()


class Served:
    """An HTTP server in a thread of its own, on a port that the guard may speak plainly to."""

    def __init__(self, port: int, handler: Handler) -> None:
        self.host = f"127.0.0.1:{port}"
        self.requests: list[tuple[str, str | None]] = []
        self._port = port
        self._handler = handler
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._runner: web.AppRunner | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _start(self) -> None:
        async def handle(request: web.Request) -> web.StreamResponse:
            self.requests.append((request.path_qs, request.headers.get("Authorization")))
            return await self._handler(request)

        application = web.Application()
        application.router.add_route("*", "/{path:.*}", handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()

    async def _stop(self) -> None:
        assert self._runner is not None
        await self._runner.cleanup()


def json_answer(content: Any, media_type: str = MANIFEST) -> web.Response:
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    return web.Response(body=body, content_type=media_type)


def with_referrers_api(upstream: str) -> Handler:
    """The real registry plus the referrers API, and without its fallback tags.

    Descriptors are typed as one widespread implementation does it: not as bundles.
    """

    async def handle(request: web.Request) -> web.StreamResponse:
        path = request.path
        if "/referrers/" in path:
            repository, _, digest = path.partition("/referrers/")
            tag = digest.replace(":", "-")
            status, body, _ = await _forward(upstream, f"{repository}/manifests/{tag}", request)
            listed = orjson.loads(body)["manifests"] if status == 200 else []
            listed = [{**each, "artifactType": EMPTY} for each in listed]
            return json_answer({"schemaVersion": 2, "mediaType": INDEX, "manifests": listed}, INDEX)
        if "/manifests/sha256-" in path:
            return web.Response(status=404)
        status, body, media_type = await _forward(upstream, path, request)
        return web.Response(status=status, body=body, content_type=media_type)

    return handle


async def _forward(upstream: str, path: str, request: web.Request) -> tuple[int, bytes, str]:
    headers = {"Accept": request.headers["Accept"]}
    timeout = aiohttp.ClientTimeout(total=10)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.get(f"http://{upstream}{path}", headers=headers) as answer,
    ):
        return answer.status, await answer.read(), answer.content_type
