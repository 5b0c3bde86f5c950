"""What the API server serves: from a kind to its path, by one aggregated discovery document.

Kinds come and go with CRDs, so a missing one is looked for again before it is called missing.
Groups of aggregated servers that do not answer are listed in `stale_groups`: what is not found
there is not known to be absent, which whoever prunes must respect.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kube_runtime.errors import KindNotServed
from kube_runtime.resource import Json, Resource

_ACCEPT: Final = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
)


@dataclass(frozen=True, slots=True)
class Served:
    """One kind of one version, and what can be done with it."""

    resource: Resource
    verbs: frozenset[str]
    subresources: frozenset[str]


class Discovery:
    """The kinds of one API server, by group and kind."""

    def __init__(self, request: Callable[..., Awaitable[Json]]) -> None:
        self._request = request
        self._served: dict[tuple[str, str, str], Served] = {}
        self._preferred: dict[tuple[str, str], Resource] = {}
        self.stale_groups: frozenset[str] = frozenset()

    async def refresh(self) -> None:
        """Read everything again: two requests."""
        documents = [await self._request("GET", path, accept=_ACCEPT) for path in ("/api", "/apis")]
        groups = [group for document in documents for group in document.get("items") or ()]
        self._served, self._preferred = {}, {}
        for served in _parse(groups):
            resource = served.resource
            self._served[resource.group, resource.version, resource.kind] = served
            self._preferred.setdefault((resource.group, resource.kind), resource)
        self.stale_groups = frozenset(_stale(groups))

    def find(self, group: str, kind: str) -> Resource:
        """Find a kind in the version that the server prefers; raise KindNotServed."""
        resource = self._preferred.get((group, kind))
        if resource is None:
            raise _missing(group, kind)
        return resource

    def resource(self, api_version: str, kind: str) -> Resource:
        """Find a kind in exactly this version; raise KindNotServed."""
        group, _, version = api_version.rpartition("/")
        served = self._served.get((group, version, kind))
        if served is None:
            raise _missing(group, kind, version)
        return served.resource

    async def find_fresh(self, group: str, kind: str) -> Resource:
        """Find a kind, reading everything again before giving up; raise KindNotServed."""
        if (group, kind) not in self._preferred:
            await self.refresh()
        return self.find(group, kind)

    def verbs(self, resource: Resource) -> frozenset[str]:
        """Tell what can be done with a kind; nothing when it is not served."""
        served = self._of(resource)
        return served.verbs if served else frozenset()

    def subresources(self, resource: Resource) -> frozenset[str]:
        """Tell the subresources of a kind: status, scale, log."""
        served = self._of(resource)
        return served.subresources if served else frozenset()

    def all(self) -> list[Resource]:
        """List every kind once, in its preferred version."""
        return list(self._preferred.values())

    def _of(self, resource: Resource) -> Served | None:
        return self._served.get((resource.group, resource.version, resource.kind))


def _missing(group: str, kind: str, version: str = "") -> KindNotServed:
    name = f"{kind} of {'/'.join(part for part in (group, version) if part) or 'the core group'}"
    return KindNotServed(
        f"expected the API server to serve {name}, found no such kind; "
        "install its CustomResourceDefinition or correct apiVersion and kind"
    )


def _parse(groups: Iterable[Json]) -> Iterator[Served]:
    """Read the groups; the server lists versions by preference."""
    for group in groups:
        name = (group.get("metadata") or {}).get("name", "")
        for version in group.get("versions") or ():
            for raw in version.get("resources") or ():
                kind = (raw.get("responseKind") or {}).get("kind")
                if kind:  # absent where the server could not ask an aggregated one
                    yield _served(name, version["version"], raw, kind)


def _served(group: str, version: str, raw: Json, kind: str) -> Served:
    return Served(
        Resource(group, version, raw["resource"], kind, namespaced=raw["scope"] == "Namespaced"),
        frozenset(raw.get("verbs") or ()),
        frozenset(item["subresource"] for item in raw.get("subresources") or ()),
    )


def _stale(groups: Iterable[Json]) -> Iterator[str]:
    for group in groups:
        versions = group.get("versions") or ()
        if any(version.get("freshness") == "Stale" for version in versions):
            yield (group.get("metadata") or {}).get("name", "")
