"""Reads all that a trace is made of; asks only for what the account may list."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import Final

from kube_runtime.api import ApiClient
from kube_runtime.errors import Forbidden
from kube_runtime.resource import SERVICES, Json, Key, Resource, Uid, controller_uid_of, uid_of
from levelset.rollout import reading
from levelset.rollout.changes import present_podset
from levelset.rollout.snapshot import snapshot_of
from levelset.trace.sources import Sources
from workloads import templates

# Of core/v1 and not of events.k8s.io: kubelet and scheduler still count repetitions in its fields.
_EVENTS: Final = Resource("", "v1", "events", "Event")
_ENDPOINT_SLICES: Final = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")


async def gather(
    api: ApiClient, key: Key, *, seen_serving: Mapping[Uid, datetime] | None = None
) -> Sources:
    """Look once at the Rollout and all around it."""
    rollout = await reading.read(api, key)
    podsets = await reading.podsets_of(api, rollout)
    podset = _newest(rollout, podsets)
    pods, events, slices, services = await asyncio.gather(
        reading.pods_of(api, rollout, podsets),
        _list(api, _EVENTS, key.namespace),
        _list(api, _ENDPOINT_SLICES, key.namespace),
        _list(api, SERVICES, key.namespace),
    )
    ours = [pod for pod in pods if podset and controller_uid_of(pod) == uid_of(podset)]
    return Sources(
        rollout=rollout,
        podset=podset,
        pods=ours,
        events=events,
        slices=slices,
        services=services,
        seen_serving=seen_serving or {},
    )


def _newest(rollout: Json, podsets: list[Json]) -> Json | None:
    """Find the PodSet of the present template: the one the status names, else an equal one."""
    seen = snapshot_of(rollout)
    if seen.is_observed and (named := present_podset(seen, podsets)) is not None:
        return named
    template = rollout["spec"]["template"]
    equal = [each for each in podsets if templates.are_equal(each["spec"]["template"], template)]
    return min(equal, key=lambda each: each["metadata"]["creationTimestamp"], default=None)


async def _list(api: ApiClient, resource: Resource, namespace: str) -> list[Json]:
    """List, or do without: a trace with fewer reasons is better than none."""
    try:
        return (await api.list(resource, namespace=namespace)).items
    except Forbidden:
        return []
