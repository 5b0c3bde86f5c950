"""Brings one Rollout a step closer to its spec: observe, plan, apply.

The decisions are in plan/ and status.py; here are reading, writing and nothing else.
Every step waits until the cache shows the writes of the one before.
"""

import logging
from dataclasses import replace
from typing import Final

from kube_runtime import logs
from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.controller import Result
from kube_runtime.errors import ApiError, Conflict, NotFound, ServerError
from kube_runtime.expectations import Expectations, Outlook
from kube_runtime.informer import Informer
from kube_runtime.ownership import Claims, adopt, plan_claims, release
from kube_runtime.resource import Json, Key, resource_version_of, uid_of
from kube_runtime.selectors import InvalidSelector
from kube_runtime.store import Store
from workloads import names
from workloads.errors import NameTakenError
from workloads.metrics import WorkloadsMetrics
from workloads.owner import confirm_owner
from workloads.podset.reconciler import ORPHAN_INDEX, OWNER_INDEX
from workloads.podset.resources import PodSet, parse_podset
from workloads.rollout.config.contents import ConfigMovedError, ConfigRefusedError
from workloads.rollout.config.keeper import ConfigKeeper, Resolution
from workloads.rollout.config.standing import with_standing
from workloads.rollout.disruption.keeper import BudgetKeeper
from workloads.rollout.fleet import Fleet, recognise, sort_fleet
from workloads.rollout.inquiry import Inquiry
from workloads.rollout.plan import Plan, plan_rollout, questions
from workloads.rollout.podset_writer import PodSetWriter
from workloads.rollout.resources import Rollout, RolloutStatus, parse_rollout
from workloads.rollout.status import invalid_status, next_status
from workloads.rollout.telling import Teller
from workloads.writes import is_namespace_terminating, write_status

_log: Final = logging.getLogger(__name__)
_PODSET_KIND: Final = "podsets"
_OWN_KIND: Final = "rollouts"


class RolloutReconciler:
    """The Rollout controller's work on one key."""

    def __init__(
        self,
        api: ApiClient,
        *,
        rollouts: Store,
        podsets: Informer,
        writer: PodSetWriter,
        inquiry: Inquiry,
        config: ConfigKeeper,
        budgets: BudgetKeeper,
        expectations: Expectations[Key],
        teller: Teller,
        metrics: WorkloadsMetrics,
        clock: Clock,
    ) -> None:
        self._api = api
        self._rollouts = rollouts
        self._podsets = podsets
        self._writer = writer
        self._inquiry = inquiry
        self._config = config
        self._budgets = budgets
        self._expectations = expectations
        self._teller = teller
        self._metrics = metrics
        self._clock = clock

    async def reconcile(self, key: Key) -> Result:
        """Take the next step; safe to call at any time, any number of times."""
        raw = self._rollouts.get(key)
        if raw is None:
            self._expectations.forget(key)
            self._inquiry.forget(key)
            self._config.forget(key)
            self._budgets.forget(key)
            return Result.DONE
        if not await self._is_settled(key):
            return Result(requeue_after=self._expectations.seconds_until_expiry(key))
        try:
            rollout = parse_rollout(raw)
        except InvalidSelector as error:
            return await self._refuse(raw, error)
        claims = self._claims(raw, rollout)
        if claims.adopt or claims.release:
            await self._settle_claims(raw, claims)
            return Result.DONE  # the change that was just made wakes us
        try:
            return await self._configured(raw, rollout, claims.keep)
        except ApiError as error:
            if not is_namespace_terminating(error):
                raise
            return Result.DONE  # nothing can be made any more, and everything goes

    async def _configured(
        self, raw: Json, rollout: Rollout, raw_podsets: tuple[Json, ...]
    ) -> Result:
        """Look at the template as it is with its ConfigMaps and Secrets, and take the next step."""
        podsets = _parsed(raw_podsets)
        resolution = await self._config.resolve(rollout, podsets)
        if resolution.is_early:
            return Result(requeue_after=resolution.look_again_after)
        try:
            written = await self._config.tend(raw, raw_podsets, resolution)
        except (Conflict, ConfigMovedError, ConfigRefusedError):
            return Result(requeue=True)
        if written is not None:
            self._record(raw, written, _PODSET_KIND)
            return Result.DONE  # the change that was just made wakes us
        rollout = resolution.applied_to(rollout)
        fleet = recognise(rollout, sort_fleet(rollout, podsets))
        return await self._step(raw, rollout, fleet, resolution)

    async def _step(
        self, raw: Json, rollout: Rollout, fleet: Fleet, resolution: Resolution
    ) -> Result:
        plan = await self._plan(raw, rollout, fleet)
        now = self._clock.now()
        outlook = await self._budgets.tend(raw, rollout, fleet, now=now)
        conditions = with_standing(
            plan.status.conditions,
            resolution.standing,
            generation=rollout.generation,
            now=now,
        )
        blocked_by = plan.status.blocked_by or outlook.blocked_by
        status = replace(plan.status, conditions=conditions, blocked_by=blocked_by)
        looks = (plan.look_again_after, resolution.look_again_after, outlook.look_again_after)
        try:
            if plan.create is not None:
                await self._config.prepare(raw, resolution)
            await self._apply(raw, plan)
        except (Conflict, ConfigMovedError, ConfigRefusedError):
            return Result(requeue=True)  # a PodSet or its configuration has changed: look again
        except NameTakenError as error:
            return await self._count_collision(raw, rollout, error)
        except ApiError as error:
            is_told = plan.create is None or isinstance(error, ServerError | NotFound)
            if is_told or is_namespace_terminating(error):
                raise
            return await self._tell_create_error(raw, rollout, fleet, error)
        if not await self._write_status(raw, rollout.status, status):
            return Result(requeue=True)
        return Result(requeue_after=min((look for look in looks if look is not None), default=None))

    async def _plan(self, raw: Json, rollout: Rollout, fleet: Fleet) -> Plan:
        asked = questions(rollout, fleet, now=self._clock.now())
        found = await self._inquiry.find_out(raw, rollout, asked)
        return plan_rollout(
            rollout, fleet, now=self._clock.now(), verdict=found.verdict, evidence=found.evidence
        )

    async def _is_settled(self, key: Key) -> bool:
        """Tell whether the caches show our last writes; list anew when they are late."""
        seen = self._rollouts.resource_version
        if not self._expectations.store_has_seen_writes(key, seen, kind=_OWN_KIND):
            return False
        outlook = self._expectations.outlook(
            key, store_resource_version=self._podsets.store.resource_version, kind=_PODSET_KIND
        )
        if outlook is Outlook.LOOK:
            self._metrics.expectations_expired(names.PODSETS.kind)
            await self._podsets.relist()
            self._expectations.forget(key)
            return True
        return outlook is Outlook.SATISFIED

    def _claims(self, raw: Json, rollout: Rollout) -> Claims:
        store = self._podsets.store
        candidates = [
            *store.by_index(OWNER_INDEX, rollout.uid),
            *store.by_index(ORPHAN_INDEX, rollout.key.namespace),
        ]
        return plan_claims(raw, rollout.selector, candidates)

    async def _settle_claims(self, raw: Json, claims: Claims) -> None:
        for podset in claims.release:
            written = await release(
                self._api,
                names.PODSETS,
                podset,
                owner_uid=uid_of(raw),
                field_manager=names.FIELD_MANAGER,
            )
            self._metrics.claimed(names.PODSETS.kind, "release")
            self._record(raw, written, _PODSET_KIND)
        if claims.adopt:
            await confirm_owner(self._api, names.ROLLOUTS, raw)
        for podset in claims.adopt:
            written = await adopt(
                self._api,
                names.PODSETS,
                podset,
                owner=raw,
                owner_resource=names.ROLLOUTS,
                field_manager=names.FIELD_MANAGER,
            )
            self._metrics.claimed(names.PODSETS.kind, "adopt")
            self._record(raw, written, _PODSET_KIND)

    async def _apply(self, raw: Json, plan: Plan) -> None:
        if plan.create is not None or plan.forget:
            await confirm_owner(self._api, names.ROLLOUTS, raw)
        if plan.create is not None:
            self._record(raw, await self._writer.create(raw, plan.create), _PODSET_KIND)
        for change in plan.changes:
            self._record(raw, await self._writer.change(raw, change), _PODSET_KIND)
        for podset in plan.forget:
            await self._writer.forget(podset)

    async def _count_collision(self, raw: Json, rollout: Rollout, error: NameTakenError) -> Result:
        """Have the next try take another hash."""
        self._metrics.hash_collided()
        _log.info(
            "template hash collided",
            extra=logs.fields(object=rollout.key, error=str(error)),
        )
        count = rollout.status.collision_count + 1
        status = replace(rollout.status, collision_count=count)
        await self._write_status(raw, rollout.status, status)
        return Result(requeue=True)

    async def _tell_create_error(
        self, raw: Json, rollout: Rollout, fleet: Fleet, error: ApiError
    ) -> Result:
        message = f"Failed to create the PodSet of the new revision: {error}"
        self._teller.create_error(raw, message)
        status = next_status(rollout, fleet, now=self._clock.now(), create_error=message)
        await self._write_status(raw, rollout.status, status)
        return Result(requeue=True)

    async def _refuse(self, raw: Json, error: InvalidSelector) -> Result:
        """Say in the status what is wrong with the spec; only a new spec can help."""
        old = RolloutStatus.from_json(raw.get("status") or {})
        generation = raw["metadata"].get("generation", 0)
        status = invalid_status(old, error, generation=generation, now=self._clock.now())
        is_written = await self._write_status(raw, old, status)
        return Result.DONE if is_written else Result(requeue=True)

    async def _write_status(self, raw: Json, old: RolloutStatus, new: RolloutStatus) -> bool:
        """Write the status if it says something new; False when somebody wrote in between."""
        if new.to_json() == old.to_json():
            return True
        try:
            written = await write_status(self._api, names.ROLLOUTS, raw, new.to_json())
        except NotFound:
            return True
        except Conflict:
            return False
        self._record(raw, written, _OWN_KIND)
        self._teller.changed(raw, old, new)
        return True

    def _record(self, owner: Json, written: Json | None, kind: str) -> None:
        if written is not None:
            version = resource_version_of(written)
            self._expectations.record_write(Key.of(owner), version, kind=kind)


def _parsed(raw_podsets: tuple[Json, ...]) -> list[PodSet]:
    """Read the PodSets; one that cannot be read is not ours to move."""
    podsets = []
    for raw in raw_podsets:
        try:
            podsets.append(parse_podset(raw))
        except InvalidSelector as error:
            _log.warning("podset unusable", extra=logs.fields(object=Key.of(raw), error=str(error)))
    return podsets
