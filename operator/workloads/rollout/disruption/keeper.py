"""Keeps the PodDisruptionBudget of each Rollout; the reconciler calls it in every pass.

What it shall say is decided in budget.py; here are reading, writing, and the watch that wakes the
Rollouts a budget concerns. Where budgets may not be listed there simply are none of ours.
"""

import logging
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kube_runtime import logs
from kube_runtime.api import ApiClient, PatchType
from kube_runtime.errors import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from kube_runtime.informer import Informer
from kube_runtime.resource import (
    POD_DISRUPTION_BUDGETS,
    Json,
    Key,
    controller_uid_of,
    resource_version_of,
    uid_of,
)
from kube_runtime.store import Store
from kube_runtime.workqueue import WorkQueue
from workloads import names
from workloads.blocked_by import BlockedBy
from workloads.rollout.disruption.budget import (
    BLOCKED_SECONDS,
    BudgetPlan,
    Budgets,
    blocking,
    patience_seconds,
    plan_budget,
    sort_budgets,
)
from workloads.rollout.disruption.patience import Patience, Wait
from workloads.rollout.fleet import Fleet
from workloads.rollout.resources import Rollout

NAMESPACE_INDEX: Final = "namespace"
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Outlook:
    """What the budgets mean for the Rollout."""

    blocked_by: BlockedBy | None = None
    look_again_after: float | None = None
    """Seconds until the wait is worth telling, or over."""


class BudgetKeeper:
    """Looks after the budgets of all Rollouts of the process."""

    def __init__(self, api: ApiClient, budgets: Informer) -> None:
        self._api = api
        self._budgets = budgets
        self._patience = Patience()

    def forget(self, key: Key) -> None:
        """Drop what is remembered of a Rollout that is gone."""
        self._patience.forget(key)

    def wake(self, queue: WorkQueue[Key], rollouts: Store) -> None:
        """Enqueue the Rollouts that a changed budget concerns, from now on."""
        self._budgets.on_change(_Waker(queue, rollouts))

    async def tend(self, raw: Json, rollout: Rollout, fleet: Fleet, *, now: datetime) -> Outlook:
        """Bring the budget level; say which one keeps pods from leaving."""
        if not self._budgets.has_synced:
            return Outlook()
        disrupted = sum(podset.status.disrupted_replicas for podset in fleet.all)
        wait = self._patience.look(rollout.key, disrupted, now)
        budgets = self._present(raw, rollout)
        patience = patience_seconds(rollout)
        has_let_go = wait is not None and wait.seconds(now) >= patience
        plan = plan_budget(raw, rollout, budgets, has_let_go=has_let_go)
        await self._apply(raw, budgets, plan)
        if wait is None:
            return Outlook()
        return outlook_of(budgets, wait, patience, now)

    def _present(self, raw: Json, rollout: Rollout) -> Budgets:
        labels = (rollout.template.get("metadata") or {}).get("labels") or {}
        present = self._budgets.store.by_index(NAMESPACE_INDEX, rollout.key.namespace)
        return sort_budgets(raw, labels, present)

    async def _apply(self, raw: Json, budgets: Budgets, plan: BudgetPlan) -> None:
        try:
            if plan.create is not None:
                await self._api.create(
                    POD_DISRUPTION_BUDGETS, plan.create, field_manager=names.FIELD_MANAGER
                )
            if budgets.own is not None and plan.patch is not None:
                await self._patch(budgets.own, plan.patch)
            if budgets.own is not None and plan.delete:
                await self._delete(budgets.own)
        except (NotFound, AlreadyExists, Conflict):
            return  # the cache is behind; the informer wakes us
        except (Forbidden, Invalid) as error:
            # Pods are kept as they are without a budget too: nothing else waits for it.
            _log.warning(
                "budget refused", extra=logs.fields(object=Key.of(raw), reason=error.reason)
            )

    async def _patch(self, own: Json, patch: Json) -> None:
        key = Key.of(own)
        await self._api.patch(
            POD_DISRUPTION_BUDGETS,
            key.name,
            {"metadata": {"resourceVersion": resource_version_of(own)}, **patch},
            namespace=key.namespace,
            type=PatchType.MERGE,
            field_manager=names.FIELD_MANAGER,
        )

    async def _delete(self, own: Json) -> None:
        key = Key.of(own)
        await self._api.delete(
            POD_DISRUPTION_BUDGETS, key.name, namespace=key.namespace, uid=uid_of(own)
        )


def by_namespace(obj: Json) -> Iterator[Hashable]:
    """File an object under its namespace."""
    yield obj["metadata"].get("namespace", "")


def outlook_of(budgets: Budgets, wait: Wait, patience: float, now: datetime) -> Outlook:
    """Say which budget pods wait for once they have waited for long, and when to look again."""
    waited = wait.seconds(now)
    later = [moment - waited for moment in (BLOCKED_SECONDS, patience) if moment > waited]
    # Whole seconds in statuses: one more, so that the look does not come too early.
    look_again_after = min(later) + 1 if later else None
    budget = blocking(budgets)
    if budget is None or waited < BLOCKED_SECONDS:
        return Outlook(look_again_after=look_again_after)
    message = (
        f"PodDisruptionBudget {budget['metadata']['name']} lets no pod go, "
        f"and {wait.count} stand on nodes that are cordoned or being drained"
    )
    since = wait.since - timedelta(microseconds=wait.since.microsecond)
    found = BlockedBy("PodDisruptionBudget", message, count=wait.count, since=since)
    return Outlook(found, look_again_after)


@dataclass(frozen=True, slots=True)
class _Waker:
    """Enqueues the owner of a budget, or whoever's pods it may cover."""

    queue: WorkQueue[Key]
    rollouts: Store

    def __call__(self, old: Json | None, new: Json | None) -> None:
        if old is not None and new is not None and _facts(old) == _facts(new):
            return
        for budget in filter(None, (old, new)):
            self._wake(budget)

    def _wake(self, budget: Json) -> None:
        namespace = budget["metadata"].get("namespace", "")
        owner = controller_uid_of(budget)
        for rollout in self.rollouts.by_index(NAMESPACE_INDEX, namespace):
            if owner is None or owner == uid_of(rollout):
                self.queue.add(Key.of(rollout))


def _facts(budget: Json) -> tuple[object, ...]:
    """Return what decisions rest upon; the counts of a status change with every pod."""
    allowed = (budget.get("status") or {}).get("disruptionsAllowed")
    return budget.get("spec"), allowed == 0
