"""Look at Git and at the cluster: from an Application to a World, without changing anything.

The controller and `levelset app diff` look through the same eyes. A look at an unchanged commit and
unchanged objects runs no git, no renderer and no request.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from gitops_agent.concurrently import for_each
from gitops_agent.diff.differ import Differ, Target
from gitops_agent.errors import GitFailed, UnknownKind
from gitops_agent.live import LiveObjects
from gitops_agent.objects import GroupKind, Manifest, ObjectId, Redactor
from gitops_agent.render import protected
from gitops_agent.render.manifests import assemble
from gitops_agent.render.renderer import Renderer, RenderRequest
from gitops_agent.repository_secrets import RepositorySecrets
from gitops_agent.resources import Application, InventoryEntry, Spec
from gitops_agent.source.credentials import Credentials
from gitops_agent.source.refs import Commit
from gitops_agent.source.sources import Sources
from gitops_agent.sync.owners import Owner, mark, owner_of
from gitops_agent.world import World, with_targets
from kube_runtime.api import ApiClient
from kube_runtime.discovery import Discovery
from kube_runtime.errors import KindNotServed
from kube_runtime.resource import NAMESPACES, Json, Key, Resource, uid_of

_CRD: Final = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
_READS_AT_ONCE: Final = 16
_WATCHABLE: Final = frozenset({"list", "watch"})


@dataclass(frozen=True, slots=True)
class _Declared:
    """What a commit declares, remembered until commit or source change."""

    attempt: str
    targets: tuple[Target, ...]


class Observer:
    """Looks; never writes."""

    def __init__(
        self,
        api: ApiClient,
        *,
        sources: Sources,
        renderer: Renderer,
        live: LiveObjects,
        differ: Differ,
        redactor: Redactor,
        living: Callable[[], Collection[str]],
        max_age_seconds: float,
    ) -> None:
        self._api = api
        self._sources = sources
        self._renderer = renderer
        self._live = live
        self._differ = differ
        self._redactor = redactor
        self._living = living
        self._max_age_seconds = max_age_seconds
        self._credentials = RepositorySecrets(api)
        self._declared: dict[Key, _Declared] = {}
        self._cluster_uid = ""

    def forget(self, application: Key) -> None:
        """Drop what is remembered of an Application that is gone."""
        self._declared.pop(application, None)
        self._live.use(application, frozenset())

    async def resolve(
        self, application: Application, spec: Spec, target: str
    ) -> tuple[Commit, Credentials]:
        """Find the commit that the target names now, and the credentials that opened the door."""
        url = spec.source.url
        shown = await self._credentials.of(application.key.namespace, url)
        try:
            commit = await self._sources.resolve(
                url, target, shown, max_age_seconds=self._max_age_seconds
            )
        except GitFailed:
            self._credentials.forget(application.key.namespace)  # they may be new by the next time
            raise
        return commit, shown

    async def look(
        self, application: Application, spec: Spec, commit: Commit, shown: Credentials
    ) -> World:
        """Compare what the commit declares with what is there."""
        world = World(
            application=application,
            spec=spec,
            commit=commit,
            credentials=shown,
            targets=(),
            live={},
            resources={},
            diffs={},
            inventory=application.inventory,
            living=frozenset(self._living()),
            cluster_uid=await self._cluster(),
        )
        return await self.look_again(replace(world, targets=await self._targets(world)))

    async def look_again(self, world: World) -> World:
        """Compare anew, after something was written."""
        discovery = await self._api.discover()
        resources = await self._resources(world, discovery)
        self._watch(world, resources, discovery)
        live: dict[ObjectId, Json | None] = {target.id: None for target in world.targets}
        for entry in world.inventory:
            if (
                entry.id not in resources
                and entry.id.group_kind.group not in discovery.stale_groups
            ):
                live[entry.id] = None  # its kind is gone from the cluster, and the object with it
        found = await for_each(
            resources.items(),
            lambda item: self._live.read(item[1], item[0]),
            at_once=_READS_AT_ONCE,
        )
        live |= dict(zip(resources, found, strict=True))
        diffs = await for_each(
            world.targets, lambda target: self._differ.diff(target, live[target.id])
        )
        return replace(
            world,
            live=live,
            resources=resources,
            diffs={diff.id: diff for diff in diffs},
            inventory=_inventory(world, live),
        )

    async def is_reproduced(self, world: World) -> bool:
        """Render the commit once more from its objects, past every cache, and compare."""
        fresh = await self._render(world, fresh=True)
        before = {target.manifest.digest for target in world.targets}
        return before == {target.manifest.digest for target in fresh}

    async def served_now(self, targets: tuple[Target, ...]) -> tuple[Target, ...]:
        """Look up the kinds again, after a CRD has come."""
        discovery = await self._api.discover()
        await discovery.refresh()
        return tuple(_target(discovery, target.manifest) for target in targets)

    async def _targets(self, world: World) -> tuple[Target, ...]:
        key, attempt = world.application.key, f"{world.application.uid}{world.attempt()}"
        known = self._declared.get(key)
        if known is not None and known.attempt == attempt:
            return known.targets
        targets = await self._render(world, fresh=False)
        if all(target.resource is not None for target in targets):
            self._declared[key] = _Declared(attempt, targets)
        return targets

    async def _render(self, world: World, *, fresh: bool) -> tuple[Target, ...]:
        source, application = world.spec.source, world.application
        request = RenderRequest(
            source.url, world.commit, source.path, source.directory, source.kustomize
        )
        objects = await self._renderer.render(request, world.credentials, fresh=fresh)
        discovery = await self._api.discover()
        for kind in sorted({GroupKind.of(obj) for _, obj in objects}):
            await _find(discovery, kind)
        manifests = assemble(
            objects,
            namespace=world.spec.namespace,
            is_namespaced=lambda kind: _scope(discovery, kind),
            redactor=self._redactor,
            finish=lambda body: mark(body, application.key, application.uid),
        )
        protected.check((each.id for each in manifests), home=application.key.namespace)
        own = {_crd_kind(manifest) for manifest in manifests if manifest.id.group_kind == _CRD}
        targets = tuple(_target(discovery, manifest) for manifest in manifests)
        for target in targets:
            if target.resource is None and target.id.group_kind not in own:
                version = target.manifest.body["apiVersion"]
                raise UnknownKind(f"{target.manifest.source}: {target.id}: {version} is not served")
        return targets

    async def _resources(self, world: World, discovery: Discovery) -> dict[ObjectId, Resource]:
        resources = {}
        for entry in world.inventory:
            if (found := await _find(discovery, entry.id.group_kind)) is not None:
                resources[entry.id] = found
        for target in world.targets:
            if target.resource is not None:
                resources[target.id] = target.resource
        return resources

    def _watch(
        self, world: World, resources: dict[ObjectId, Resource], discovery: Discovery
    ) -> None:
        kinds = frozenset(resources.values())
        watchable = frozenset(kind for kind in kinds if discovery.verbs(kind) >= _WATCHABLE)
        self._live.use(world.application.key, watchable)

    async def _cluster(self) -> str:
        if not self._cluster_uid:
            self._cluster_uid = uid_of(await self._api.get(NAMESPACES, "kube-system"))
        return self._cluster_uid


def _inventory(world: World, live: Mapping[ObjectId, Json | None]) -> tuple[InventoryEntry, ...]:
    """What we hold: the recorded entries, and what carries our mark without being recorded."""
    uid, living = world.application.uid, world.living
    ours = [
        target
        for target in world.targets
        if (obj := live[target.id]) is not None and owner_of(obj, uid, living) is Owner.US
    ]
    return with_targets(world.inventory, ours)


def _target(discovery: Discovery, manifest: Manifest) -> Target:
    try:
        found = discovery.resource(manifest.body["apiVersion"], manifest.id.group_kind.kind)
    except KindNotServed:
        return Target(manifest, None)
    return Target(manifest, found)


async def _find(discovery: Discovery, kind: GroupKind) -> Resource | None:
    try:
        return await discovery.find_fresh(kind.group, kind.kind)
    except KindNotServed:
        return None


def _scope(discovery: Discovery, kind: GroupKind) -> bool | None:
    try:
        return discovery.find(kind.group, kind.kind).namespaced
    except KindNotServed:
        return None


def _crd_kind(manifest: Manifest) -> GroupKind:
    spec = manifest.body.get("spec") or {}
    return GroupKind(spec.get("group", ""), (spec.get("names") or {}).get("kind", ""))
