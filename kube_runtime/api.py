"""The client of the API server: every verb, on raw JSON, bounded in rate, time and repetition.

Informers, controllers and commands share one; `async with await ApiClient.connect(...) as api:`.
It keeps no state of the cluster (that is informer.py) and knows no kind.
Long because the verbs have many parameters; what they do is in the api_* modules beside it.
"""

import builtins
import copy
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Final, Self

from kube_runtime import api_calls, credentials
from kube_runtime.api_answers import ListResult, WatchEvent, read_event, read_page
from kube_runtime.api_calls import PatchType
from kube_runtime.api_sender import Fence, Gate, Sender
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.discovery import Discovery
from kube_runtime.errors import Gone
from kube_runtime.instrumentation import NO_INSTRUMENTATION, Instrumentation
from kube_runtime.ratelimit import TokenBucket
from kube_runtime.resource import Json, Key, Resource
from kube_runtime.transport import Call, Transport

__all__ = ["PAGE_SIZE", "ApiClient", "Fence", "ListResult", "PatchType", "WatchEvent"]

PAGE_SIZE: Final = 500


class ApiClient:
    """Speaks to one API server as one user."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._discovery: Discovery | None = None

    @classmethod
    async def connect(
        cls,
        *,
        kubeconfig: str | None = None,
        context: str | None = None,
        user_agent: str,
        qps: float = 200,
        burst: int = 400,
        timeout_seconds: float = 30.0,
        instrumentation: Instrumentation = NO_INSTRUMENTATION,
        fence: Fence | None = None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> Self:
        """Read the credentials and open a pool; nothing is sent yet. Raises BadKubeconfig.

        Without a kubeconfig: $KUBECONFIG, then the pod's service account, then ~/.kube/config.
        """
        transport = Transport(
            await credentials.load(kubeconfig, context),
            user_agent=user_agent,
            kubeconfig=kubeconfig,
            context=context,
            instrumentation=instrumentation,
            clock=clock,
        )
        sender = Sender(
            transport,
            limiter=TokenBucket(qps, burst, clock=clock),
            timeout_seconds=timeout_seconds,
            gate=Gate(fence),
            clock=clock,
        )
        return cls(sender)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the pool, also of the clients derived from this one."""
        await self._sender.transport.close()

    @property
    def fence(self) -> Fence | None:
        """Asked right before every write that is not a dry run."""
        return self._sender.gate.fence

    @fence.setter
    def fence(self, fence: Fence | None) -> None:
        self._sender.gate.fence = fence

    @property
    def server(self) -> str:
        """The address of the API server."""
        return self._sender.transport.login.server

    @property
    def namespace(self) -> str:
        """The namespace of the kubeconfig's context, or of the pod we run in."""
        return self._sender.transport.login.namespace

    def impersonating(self, user: str, groups: Sequence[str] = ()) -> Self:
        """Make a client that acts as somebody else, over the same pool, limits and fence."""
        headers = [("Impersonate-User", user)]
        headers += [("Impersonate-Group", group) for group in groups]
        return self._derived(self._sender.with_headers(tuple(headers)))

    def without_fence(self) -> Self:
        """Make a client for the lease itself, and for what may be written without leading.

        It has limits of its own: a renewal must not queue behind a thousand creates.
        """
        return self._derived(self._sender.side_lane(Gate()))

    async def get(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        subresource: str | None = None,
    ) -> Json:
        """Read one object; raise NotFound."""
        path = resource.path(namespace=namespace, name=name, subresource=subresource)
        return await self._json(Call("GET", path))

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        label_selector: str | None = None,
        field_selector: str | None = None,
        limit: int = PAGE_SIZE,
        resource_version: str | None = None,
        transform: Callable[[Json], Json] | None = None,
        metadata_only: bool = False,
    ) -> ListResult:
        """Read a collection, page by page; `transform` is applied to each page as it comes."""

        async def read(page_size: int | None) -> ListResult:
            items: builtins.list[Json] = []
            token = ""
            while True:
                call = api_calls.list_call(
                    resource,
                    namespace,
                    label_selector=label_selector,
                    field_selector=field_selector,
                    limit=page_size,
                    resource_version=resource_version,
                    continue_token=token,
                    metadata_only=metadata_only,
                )
                page = read_page(await self._json(call), resource, transform, call)
                items += page.items
                token = page.continue_token
                if not token:
                    return ListResult(items, page.resource_version)

        try:
            return await read(limit)
        except Gone:
            # The pages took longer than etcd keeps history: a single one cannot come too late.
            return await read(None)

    async def watch(
        self,
        resource: Resource,
        *,
        namespace: str | None = None,
        resource_version: str,
        label_selector: str | None = None,
        field_selector: str | None = None,
        timeout_seconds: int = 300,
        inactivity_seconds: float = 70,
        metadata_only: bool = False,
    ) -> AsyncGenerator[WatchEvent, None]:
        """Yield what changes, until the server ends it after about `timeout_seconds`.

        An ERROR event raises its ApiError: Gone when the resourceVersion is too old.
        RequestTimeout after `inactivity_seconds` without a byte; bookmarks come each minute.
        """
        call = api_calls.watch_call(
            resource,
            namespace,
            resource_version=resource_version,
            label_selector=label_selector,
            field_selector=field_selector,
            timeout_seconds=timeout_seconds,
            metadata_only=metadata_only,
        )
        lines = self._sender.lines(call, inactivity_seconds=inactivity_seconds)
        async with aclosing(lines) as batches:
            async for batch in batches:
                for line in batch:
                    yield read_event(line, call)

    async def create(
        self,
        resource: Resource,
        body: Json,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        dry_run: bool = False,
        subresource: str | None = None,
        name: str | None = None,
    ) -> Json:
        """Create an object, or post to a subresource of `name`; namespace from the body if None.

        After RequestTimeout, Unreachable or ServerError the object may be there all the same.
        """
        call = api_calls.create_call(
            resource,
            body,
            namespace=namespace,
            name=name,
            subresource=subresource,
            field_manager=field_manager,
            dry_run=dry_run,
        )
        return await self._json(call)

    async def replace(
        self,
        resource: Resource,
        body: Json,
        *,
        field_manager: str | None = None,
        dry_run: bool = False,
        subresource: str | None = None,
    ) -> Json:
        """Replace the object that the body names; raise Conflict when its version is old."""
        call = api_calls.replace_call(
            resource, body, subresource=subresource, field_manager=field_manager, dry_run=dry_run
        )
        return await self._json(call)

    async def patch(
        self,
        resource: Resource,
        name: str,
        body: Json | Sequence[Json],
        *,
        type: PatchType,  # noqa: A002 - what the API calls it
        namespace: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        subresource: str | None = None,
    ) -> Json:
        """Patch one object."""
        call = api_calls.patch_call(
            resource,
            Key(namespace or "", name),
            body,
            patch_type=type,
            subresource=subresource,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
        )
        return await self._json(call)

    async def apply(
        self,
        resource: Resource,
        body: Json,
        *,
        field_manager: str,
        force: bool = False,
        dry_run: bool = False,
        subresource: str | None = None,
    ) -> Json:
        """Apply on the server side what the body says, creating the object if need be."""
        key = Key.of(body)
        return await self.patch(
            resource,
            key.name,
            body,
            namespace=key.namespace,
            type=PatchType.APPLY,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
            subresource=subresource,
        )

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        propagation_policy: str | None = None,
        grace_period_seconds: int | None = None,
        dry_run: bool = False,
    ) -> Json:
        """Delete one object; raise Conflict when it no longer has the uid or resourceVersion."""
        call = api_calls.delete_call(
            resource,
            Key(namespace or "", name),
            uid=uid,
            resource_version=resource_version,
            propagation_policy=propagation_policy,
            grace_period_seconds=grace_period_seconds,
            dry_run=dry_run,
        )
        return await self._json(call)

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = "application/json",
        accept: str | None = None,
        timeout_seconds: float | None = None,
    ) -> Json:
        """Ask anything else (/version, /openapi/v3) and read the JSON object that comes back."""
        call = api_calls.raw_call(
            method, path, params=params, body=body, content_type=content_type, accept=accept
        )
        return await self._json(call, timeout_seconds=timeout_seconds)

    async def stream(
        self, path: str, *, params: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the body of an answer that is no JSON, such as a pod's log, as it comes."""
        call = api_calls.raw_call(
            "GET", path, params=params, body=None, content_type="", accept=None
        )
        async with aclosing(self._sender.chunks(call)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def discover(self) -> Discovery:
        """Tell which kinds the server serves; read once, then kept until its refresh()."""
        if self._discovery is None:
            discovery = Discovery(self.request)
            await discovery.refresh()
            self._discovery = discovery
        return self._discovery

    def _derived(self, sender: Sender) -> Self:
        derived = copy.copy(self)
        derived._sender = sender  # noqa: SLF001 - of our own class
        return derived

    async def _json(self, call: Call, *, timeout_seconds: float | None = None) -> Json:
        answer: Json = await self._sender.send(call, timeout_seconds=timeout_seconds)
        return answer
