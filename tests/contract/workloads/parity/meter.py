"""A metrics API for a real autoscaler: a made-up load, shared out over the pods that run.

Served over TLS behind the API server's aggregation layer, as metrics-server is.
"""

import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from kube_runtime.api import ApiClient
from kube_runtime.conditions import format_time
from kube_runtime.resource import PODS, Json, Resource, is_deleting
from local_cluster.pki import Authority

API_SERVICES = Resource(
    "apiregistration.k8s.io", "v1", "apiservices", "APIService", namespaced=False
)
GROUP = "metrics.k8s.io"
VERSION = "v1beta1"
NAME = f"{VERSION}.{GROUP}"
_PATH = f"/apis/{GROUP}/{VERSION}"
_RESOURCES: Json = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": f"{GROUP}/{VERSION}",
    "resources": [
        {
            "name": "pods",
            "singularName": "",
            "namespaced": True,
            "kind": "PodMetrics",
            "verbs": ["get", "list"],
        }
    ],
}


class Meter:
    """What the pods of a namespace seem to use."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api
        self.millicores = 0
        self.questions = 0

    async def resources(self, _: web.Request) -> web.Response:
        return web.json_response(_RESOURCES)

    async def pods(self, request: web.Request) -> web.Response:
        self.questions += 1
        found = await self._api.list(
            PODS,
            namespace=request.match_info["namespace"],
            label_selector=request.query.get("labelSelector"),
        )
        running = [pod for pod in found.items if _runs(pod)]
        share = self.millicores // len(running) if running else 0
        items = [_metrics(pod, share) for pod in running]
        return web.json_response(
            {
                "kind": "PodMetricsList",
                "apiVersion": f"{GROUP}/{VERSION}",
                "metadata": {},
                "items": items,
            }
        )


@asynccontextmanager
async def serving(api: ApiClient, namespace: str, authority: Authority) -> AsyncIterator[Meter]:
    """Serve the metrics API through a Service of the namespace, until the end of the block."""
    meter = Meter(api)
    app = web.Application()
    app.add_routes(
        [
            web.get(_PATH, meter.resources),
            web.get(f"{_PATH}/namespaces/{{namespace}}/pods", meter.pods),
        ]
    )
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=_tls(authority, namespace))
        await site.start()
        service, aggregated = _objects(namespace, runner.addresses[0][1], authority.certificate)
        await api.request("POST", f"/api/v1/namespaces/{namespace}/services", body=service)
        await api.create(API_SERVICES, aggregated)
        try:
            yield meter
        finally:
            # One that does not answer would hold up the deletion of every namespace.
            await api.delete(API_SERVICES, NAME)
    finally:
        await runner.cleanup()


def _tls(authority: Authority, namespace: str) -> ssl.SSLContext:
    name = f"meter.{namespace}.svc"
    pair = authority.issue(f"meter-{namespace}", common_name=name, hosts=[name])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return context


def _objects(namespace: str, port: int, certificate: Path) -> tuple[Json, Json]:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "meter"},
        # The API server runs on this machine, as the server does.
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    aggregated = {
        "apiVersion": API_SERVICES.api_version,
        "kind": API_SERVICES.kind,
        "metadata": {"name": NAME},
        "spec": {
            "group": GROUP,
            "version": VERSION,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "caBundle": base64.b64encode(certificate.read_bytes()).decode(),
            "service": {"namespace": namespace, "name": "meter", "port": port},
        },
    }
    return service, aggregated


def _runs(pod: Json) -> bool:
    return not is_deleting(pod) and pod["status"].get("phase") == "Running"


def _metrics(pod: Json, millicores: int) -> Json:
    name = pod["metadata"]["name"]
    return {
        "metadata": {"name": name, "namespace": pod["metadata"]["namespace"]},
        "timestamp": format_time(datetime.now(UTC)),
        "window": "1s",
        "containers": [
            {"name": "web", "usage": {"cpu": f"{millicores}m", "memory": "1Mi"}},
        ],
    }
