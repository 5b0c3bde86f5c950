"""A namespace with our controllers in it, and a hand that plays the kubelet.

Without nodes a pod is deleted at once; a pod that `bind` has given a node stays terminating until
`finish_terminations`, as with a real kubelet.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from exporters.instrument import Instruments
from kube_runtime.api import ApiClient, PatchType
from kube_runtime.conditions import format_time, is_true, parse_conditions
from kube_runtime.errors import NotFound
from kube_runtime.resource import PODS, Json, Resource, is_deleting
from workloads import names
from workloads.controllers import Controllers, build_controllers
from workloads.settings import WorkloadsSettings

DEADLINE_SECONDS = 15.0


@dataclass
class World:
    """One test's namespace, seen by an administrator."""

    api: ApiClient
    namespace: str
    kubelet: asyncio.Task[None] | None = None
    broken_images: set[str] = field(default_factory=set)

    # ---- objects ----

    async def create(self, resource: Resource, body: Json) -> Json:
        return await self.api.create(resource, body, namespace=self.namespace)

    async def get(self, resource: Resource, name: str) -> Json:
        return await self.api.get(resource, name, namespace=self.namespace)

    async def all(self, resource: Resource, **more: Any) -> list[Json]:
        return (await self.api.list(resource, namespace=self.namespace, **more)).items

    async def patch(self, resource: Resource, name: str, body: Json, **more: Any) -> Json:
        return await self.api.patch(
            resource, name, body, namespace=self.namespace, type=PatchType.MERGE, **more
        )

    async def delete(self, resource: Resource, name: str, **more: Any) -> Json:
        return await self.api.delete(resource, name, namespace=self.namespace, **more)

    async def podset(self, replicas: int, name: str = "web", **spec: Any) -> Json:
        return await self.create(names.PODSETS, podset(name, replicas, **spec))

    async def rollout(self, replicas: int, name: str = "web", **spec: Any) -> Json:
        return await self.create(names.ROLLOUTS, rollout(name, replicas, **spec))

    async def scale(self, resource: Resource, name: str, replicas: int) -> Json:
        return await self.patch(resource, name, {"spec": {"replicas": replicas}})

    async def set_image(self, image: str, name: str = "web") -> Json:
        return await self.patch(names.ROLLOUTS, name, {"spec": {"template": template(image)}})

    async def status(self, resource: Resource, name: str = "web") -> Json:
        status: Json = (await self.get(resource, name)).get("status") or {}
        return status

    async def condition(self, resource: Resource, type_: str, name: str = "web") -> Json:
        conditions = (await self.status(resource, name)).get("conditions") or []
        return next((entry for entry in conditions if entry["type"] == type_), {})

    async def pods(self, *, selector: str | None = None) -> list[Json]:
        """The pods that are not on their way out."""
        pods = await self.all(PODS, label_selector=selector)
        return [pod for pod in pods if not is_deleting(pod)]

    async def podsets(self) -> list[Json]:
        podsets = await self.all(names.PODSETS)
        return sorted(podsets, key=lambda podset: int(revision(podset) or 0))

    async def podset_of(self, image: str) -> Json:
        """The PodSet of the revision with this image."""
        return next(podset for podset in await self.podsets() if image_of(podset) == image)

    async def events(self, reason: str) -> list[str]:
        raw = await self.api.request(
            "GET", f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        )
        return [event["note"] for event in raw["items"] if event["reason"] == reason]

    # ---- waiting ----

    async def eventually(
        self, check: Callable[[], Awaitable[object]], *, seconds: float = DEADLINE_SECONDS
    ) -> None:
        """Try a check until it passes; at the deadline its own assertion is raised."""
        end = asyncio.get_running_loop().time() + seconds
        while True:
            try:
                await check()
            except (AssertionError, NotFound, LookupError, ValueError):
                if asyncio.get_running_loop().time() > end:
                    raise
                await asyncio.sleep(0.05)
            else:
                return

    async def has_pods(self, count: int, *, selector: str | None = None) -> list[Json]:
        """Wait for exactly so many pods, and for the status that says so where there is a PodSet."""

        async def check() -> None:
            pods = await self.pods(selector=selector)
            assert len(pods) == count, [pod["metadata"]["name"] for pod in pods]

        await self.eventually(check)
        return await self.pods(selector=selector)

    async def has_status(self, resource: Resource, name: str = "web", **wanted: Any) -> None:
        """Wait until the status has these values, for the generation that is there."""

        async def check() -> None:
            obj = await self.get(resource, name)
            status = obj.get("status") or {}
            found = {key: status.get(key) for key in wanted}
            assert found == wanted, status
            assert status["observedGeneration"] == obj["metadata"]["generation"], status

        await self.eventually(check)

    async def is_complete(self, name: str = "web", **wanted: Any) -> None:
        """Wait until the Rollout is Ready."""

        async def check() -> None:
            obj = await self.get(names.ROLLOUTS, name)
            # One look for all: two could see the end of the last change and the start of the next.
            assert is_true(parse_conditions(obj.get("status", {}).get("conditions")), "Ready"), obj
            assert obj["status"]["observedGeneration"] == obj["metadata"]["generation"]
            assert {key: obj["status"].get(key) for key in wanted} == wanted

        await self.eventually(check)

    async def has_condition(
        self, resource: Resource, type_: str, status: str, *, name: str = "web"
    ) -> None:
        entry = await self.condition(resource, type_, name)
        assert entry.get("status") == status, await self.status(resource, name)

    async def stays(self, check: Callable[[], Awaitable[object]], seconds: float = 1.0) -> None:
        """Make sure that a check goes on passing."""
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            await check()
            await asyncio.sleep(0.1)

    # ---- the kubelet ----

    async def make_ready(self, pod: Json, *, since: datetime | None = None) -> None:
        """Say that the pod runs and is ready."""
        moment = format_time(since or datetime.now(UTC))
        status = {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": moment}],
        }
        with contextlib.suppress(NotFound):
            await self.patch(
                PODS, pod["metadata"]["name"], {"status": status}, subresource="status"
            )

    async def set_phase(self, pod: Json, phase: str) -> None:
        body = {"status": {"phase": phase, "conditions": None}}
        await self.patch(PODS, pod["metadata"]["name"], body, subresource="status")

    async def bind(self, pod: Json, node: str = "n1") -> None:
        """Give the pod a node, so that its deletion takes its time."""
        name = pod["metadata"]["name"]
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.api.create(
            PODS, binding, namespace=self.namespace, name=name, subresource="binding"
        )

    async def finish_terminations(self) -> None:
        for pod in await self.all(PODS):
            if is_deleting(pod):
                with contextlib.suppress(NotFound):
                    await self.delete(PODS, pod["metadata"]["name"], grace_period_seconds=0)

    async def run_kubelet(self) -> None:
        """Make every new pod ready, but for those with a broken image, until cancelled."""
        while True:
            for pod in await self.pods():
                image = pod["spec"]["containers"][0]["image"]
                if "conditions" not in pod["status"] and image not in self.broken_images:
                    await self.make_ready(pod)
            await asyncio.sleep(0.05)


@asynccontextmanager
async def running_controllers(
    api: ApiClient, namespace: str, **more: Any
) -> AsyncIterator[Controllers]:
    """Both controllers in this process, for one namespace."""
    settings = WorkloadsSettings(watch_namespace=namespace, **more)
    controllers = build_controllers(api, settings, instruments=Instruments("tests"))
    async with running(*controllers.always):
        for informer in controllers.informers:
            await informer.wait_synced(10)
        async with running(*controllers.leading):
            yield controllers


@asynccontextmanager
async def running(*services: Callable[[], Awaitable[None]]) -> AsyncIterator[None]:
    """Run services until the end of the block, and see that none has died."""

    async def run(service: Callable[[], Awaitable[None]]) -> None:
        await service()

    tasks = [asyncio.create_task(run(service)) for service in services]
    try:
        yield
    finally:
        dead = [task for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in dead:
            task.result()


def template(image: str = "web:1", **labels: str) -> Json:
    return {
        "metadata": {"labels": {"app": "web", **labels}},
        "spec": {"containers": [{"name": "web", "image": image}]},
    }


def podset(name: str, replicas: int, **spec: Any) -> Json:
    return _object(names.PODSETS, name, replicas, spec)


def rollout(name: str, replicas: int, *, image: str = "web:1", **spec: Any) -> Json:
    return _object(names.ROLLOUTS, name, replicas, {"template": template(image)} | spec)


def _object(resource: Resource, name: str, replicas: int, spec: Json) -> Json:
    defaults = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template(),
    }
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": defaults | spec,
    }


def bare_pod(name: str, **labels: str) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web:1"}]},
    }


def revision(podset: Json) -> str | None:
    value: str | None = podset["metadata"].get("annotations", {}).get(names.REVISION)
    return value


def image_of(podset: Json) -> str:
    image: str = podset["spec"]["template"]["spec"]["containers"][0]["image"]
    return image
