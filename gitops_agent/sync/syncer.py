"""One sync from its first doubt to its last delete.

Order: whose is it, would it be admitted, write down what will be ours, apply, and only then delete, on a
render that was made afresh. Raises on the first thing that stops it; whatever was done until then is
recorded and is taken up by the next attempt.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gitops_agent.diff.compare import ObjectDiff
from gitops_agent.diff.differ import Target
from gitops_agent.errors import OwnedByAnother, PreflightRefused, RenderFailed
from gitops_agent.objects import GroupKind, ObjectId
from gitops_agent.observer import Observer
from gitops_agent.resources import InventoryEntry
from gitops_agent.sync.apply import Applier
from gitops_agent.sync.order import is_foundation
from gitops_agent.sync.owners import Owner, holder_name
from gitops_agent.sync.preflight import Verdict, preflight
from gitops_agent.sync.prune import plan_prune
from gitops_agent.world import World, with_targets
from kube_runtime.api import ApiClient
from kube_runtime.errors import NotFound
from kube_runtime.resource import NAMESPACES

_CRD: Final = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")
_NAMESPACE: Final = GroupKind("", "Namespace")
_SHOWN: Final = 3

Record = Callable[[Sequence[InventoryEntry]], Awaitable[None]]
"""Write the inventory down; called before the first object is touched."""


@dataclass(frozen=True, slots=True)
class SyncOrder:
    """What is to be done."""

    world: World
    todo: tuple[Target, ...]
    prune: bool
    is_confirmed: bool
    """A person asked for this sync with prune."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was done."""

    world: World
    """As it is afterwards."""
    applied: tuple[ObjectDiff, ...] = ()
    pruned: tuple[ObjectId, ...] = ()
    forced: tuple[str, ...] = ()


class Syncer:
    """Carries syncs out."""

    def __init__(
        self,
        api: ApiClient,
        observer: Observer,
        applier: Applier,
        *,
        on_apply: Callable[[World], None],
    ) -> None:
        self._api = api
        self._observer = observer
        self._applier = applier
        self._on_apply = on_apply

    async def sync(self, order: SyncOrder, record: Record) -> Outcome:
        """Do it; raises GitOpsError or KubeError at what stops it."""
        world = order.world
        _refuse_foreign(world)
        forced = await self._apply_all(order, record) if order.todo else ()
        applied = tuple(world.diffs[target.id] for target in order.todo)
        after = replace(world, inventory=with_targets(world.inventory, order.todo))
        after = await self._observer.look_again(after)
        pruned = await self._prune(after, order) if order.prune else ()
        if pruned:
            after = await self._observer.look_again(after)
        return Outcome(after, applied, pruned, forced)

    async def _apply_all(self, order: SyncOrder, record: Record) -> tuple[str, ...]:
        world = order.world
        waiting = await self._missing_namespaces(order)
        first = [target for target in order.todo if not _must_wait(target, waiting)]
        later = tuple(target for target in order.todo if _must_wait(target, waiting))
        verdict = await self._checked(world, first)
        await record(with_targets(world.inventory, order.todo))
        self._on_apply(world)
        if world.spec.creates_namespace and world.spec.namespace in waiting:
            await self._applier.ensure_namespace(world.spec.namespace)
        if not later:
            await self._applier.apply(first)
            return verdict.forced
        ground = [target for target in first if is_foundation(target.id)]
        rest = [target for target in first if not is_foundation(target.id)]
        await self._lay_ground(ground)
        later = await self._observer.served_now(later)
        second = await self._checked(world, later)
        await self._applier.apply([*rest, *later])
        return verdict.forced + second.forced

    async def _lay_ground(self, targets: Sequence[Target]) -> None:
        await self._applier.apply(targets)
        for target in targets:
            if target.id.group_kind == _CRD:
                await self._applier.wait_established(target.id.name)

    async def _checked(self, world: World, targets: Sequence[Target]) -> Verdict:
        verdict = await preflight(self._api, targets, running=world.running)
        if verdict.refusals:
            shown = "; ".join(str(refusal) for refusal in verdict.refusals[:_SHOWN])
            more = len(verdict.refusals) - _SHOWN
            rest = f"; and {more} more" if more > 0 else ""
            raise PreflightRefused(f"nothing was applied: {shown}{rest}")
        return verdict

    async def _missing_namespaces(self, order: SyncOrder) -> set[str]:
        """Find the namespaces that do not exist yet and that this sync is going to make."""
        world = order.world
        made = {target.id.name for target in order.todo if target.id.group_kind == _NAMESPACE}
        missing = {name for name in made if world.live.get(_namespace_id(name)) is None}
        if world.spec.creates_namespace and world.spec.namespace not in made:
            try:
                await self._api.get(NAMESPACES, world.spec.namespace)
            except NotFound:
                missing.add(world.spec.namespace)
        return missing

    async def _prune(self, world: World, order: SyncOrder) -> tuple[ObjectId, ...]:
        if not world.spec.may_prune:
            return ()
        plan = plan_prune(world.prune_question(is_confirmed=order.is_confirmed))
        if not plan.delete:
            return ()
        if not await self._observer.is_reproduced(world):
            raise RenderFailed(
                f"nothing was pruned: rendering {world.commit} twice gave two results; "
                "take what is random out of it",
                retry_after=60.0,
            )
        doomed = []
        for entry in plan.delete:
            live = world.live.get(entry.id)
            if live is not None:
                doomed.append((entry, world.resources[entry.id], live))
        return tuple(entry.id for entry in await self._applier.delete(doomed))


def _refuse_foreign(world: World) -> None:
    for target in world.targets:
        live = world.live.get(target.id)
        if live is not None and world.owner(target.id) is Owner.ANOTHER:
            raise OwnedByAnother(
                f"{target.id} belongs to Application {holder_name(live)}; expected no owner or this "
                "one: remove it from one of the two repositories"
            )


def _must_wait(target: Target, namespaces: set[str]) -> bool:
    """Whether it cannot even be dry-run yet."""
    return target.resource is None or target.id.namespace in namespaces


def _namespace_id(name: str) -> ObjectId:
    return ObjectId(_NAMESPACE, "", name)
