"""Reads a Rollout, its PodSets and its pods; says in one line what is not there."""

from collections.abc import Iterable
from typing import Final

from kube_runtime import required_crds
from kube_runtime.api import ApiClient
from kube_runtime.errors import Forbidden, NotFound
from kube_runtime.resource import PODS, Json, Key, controller_uid_of, uid_of
from kube_runtime.selectors import LabelSelector
from levelset.rollout.errors import NoSuchRollout
from workloads import names
from workloads.rollout.config.copies import RESOURCES
from workloads.rollout.config.record import Version, version_of
from workloads.rollout.config.references import Source

# Without a fallback: a server that does not know it says no instead of sending values.
_METADATA_ALONE: Final = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


async def read(api: ApiClient, key: Key) -> Json:
    """Return the Rollout; raises NoSuchRollout, or what its kind lacks."""
    try:
        return await api.get(names.ROLLOUTS, key.name, namespace=key.namespace)
    except NotFound as error:
        await required_crds.check(api, [names.ROLLOUTS])
        raise NoSuchRollout(
            f'{names.ROLLOUTS} "{key.name}" not found in namespace {key.namespace!r}; '
            "give the namespace with -n, or list all with: kubectl get rollouts -A"
        ) from error


async def podsets_of(api: ApiClient, rollout: Json) -> list[Json]:
    """Return the PodSets that the Rollout controls."""
    listed = await api.list(
        names.PODSETS,
        namespace=Key.of(rollout).namespace,
        label_selector=selector_of(rollout),
    )
    return [podset for podset in listed.items if controller_uid_of(podset) == uid_of(rollout)]


async def pods_of(api: ApiClient, rollout: Json, podsets: list[Json]) -> list[Json]:
    """Return the pods that these PodSets control, terminating ones included."""
    listed = await api.list(
        PODS, namespace=Key.of(rollout).namespace, label_selector=selector_of(rollout)
    )
    owners = {uid_of(podset) for podset in podsets}
    return [pod for pod in listed.items if controller_uid_of(pod) in owners]


async def versions_of(
    api: ApiClient, namespace: str, sources: Iterable[Source]
) -> dict[Source, Version]:
    """Tell which versions of these ConfigMaps and Secrets there are, by their metadata alone.

    What is not there, or may not be read, is left out.
    """
    found = {}
    for source in sources:
        path = RESOURCES[source.kind].path(namespace=namespace, name=source.name)
        try:
            raw = await api.request("GET", path, accept=_METADATA_ALONE)
        except (Forbidden, NotFound):
            continue
        found[source] = version_of(raw)
    return found


def selector_of(rollout: Json) -> str:
    """Write the Rollout's selector as a query; raises InvalidSelector."""
    return LabelSelector.parse(rollout["spec"].get("selector")).to_string()
