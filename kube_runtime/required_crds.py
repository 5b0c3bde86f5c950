"""Checks at the start that the kinds a process lives on are served, in the version it speaks.

Asks the discovery endpoints, which every account may read, and not the CRDs themselves.
Called by the process shell and by commands; raises one error that says what to install.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from kube_runtime.api import ApiClient
from kube_runtime.errors import KubeError, NotFound
from kube_runtime.resource import Resource

NEXT_STEP: Final = "install the CRDs of this release: kubectl apply --server-side -f deploy/crds"


class MissingCrd(KubeError):  # noqa: N818 - named as the API names its reasons
    """The API server does not serve the kind at all."""

    reason = "MissingCrd"


class WrongCrdVersion(KubeError):  # noqa: N818 - named as the API names its reasons
    """The API server serves the kind, but in other versions."""

    reason = "WrongCrdVersion"


async def check(api: ApiClient, required: Iterable[Resource]) -> None:
    """Raise MissingCrd or WrongCrdVersion for the first kind that is not served as required."""
    for resource in required:
        served = await _versions_of_group(api, resource.group)
        with_kind = [v for v in served if await _serves(api, resource, v)]
        if resource.version in with_kind:
            continue
        if not with_kind:
            raise MissingCrd(
                f"CustomResourceDefinition {resource}: expected version {resource.version} "
                f"to be served by {api.server}, found none; {NEXT_STEP}"
            )
        raise WrongCrdVersion(
            f"CustomResourceDefinition {resource}: expected version {resource.version} "
            f"to be served by {api.server}, found {', '.join(with_kind)}; {NEXT_STEP}"
        )


async def _versions_of_group(api: ApiClient, group: str) -> Sequence[str]:
    try:
        raw = await api.request("GET", f"/apis/{group}")
    except NotFound:
        return ()
    return [version["version"] for version in raw.get("versions", ())]


async def _serves(api: ApiClient, resource: Resource, version: str) -> bool:
    try:
        raw = await api.request("GET", f"/apis/{resource.group}/{version}")
    except NotFound:
        return False
    return any(
        entry["name"] == resource.plural and entry["kind"] == resource.kind
        for entry in raw.get("resources", ())
    )
