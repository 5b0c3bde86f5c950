"""Which PodDisruptionBudget a Rollout shall have, and whose budget a drain waits for.

The budget names a number of pods that must stay available, not of those that may go: during a
surge the disruption controller counts what the PodSets want together, which is more than
spec.replicas, and a number that may go would then be too small or too large. Pure.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from kube_runtime.ownership import owner_reference_to
from kube_runtime.resource import POD_DISRUPTION_BUDGETS, Json, controller_uid_of, uid_of
from kube_runtime.selectors import InvalidSelector, LabelSelector
from workloads import names
from workloads.rollout import maths
from workloads.rollout.plan.disruption import can_surge
from workloads.rollout.policies import BudgetMode
from workloads.rollout.resources import Rollout

BLOCKED_SECONDS: Final = 10.0
"""How long a drain may wait before that is worth telling; a successor needs a few seconds."""
_LONGEST_WAIT_SECONDS: Final = 600.0
_MAX_STEM_CHARS: Final = 253 - len("-rollout")


@dataclass(frozen=True, slots=True)
class Budgets:
    """The budgets that cover the pods of a Rollout."""

    own: Json | None = field(default=None, hash=False)
    others: tuple[Json, ...] = field(default=(), hash=False)
    has_namesake: bool = False
    """Somebody else's budget has the name that ours would have."""


@dataclass(frozen=True, slots=True)
class BudgetPlan:
    """What to write; nothing when the budget is level."""

    create: Json | None = field(default=None, hash=False)
    patch: Json | None = field(default=None, hash=False)
    delete: bool = False


def sort_budgets(rollout: Json, labels: Mapping[str, str], budgets: Iterable[Json]) -> Budgets:
    """Find our own budget, and those of others that select the same pods."""
    own, others, has_namesake = None, [], False
    for budget in budgets:
        if controller_uid_of(budget) == uid_of(rollout):
            own = budget
            continue
        if budget["metadata"]["name"] == budget_name(rollout):
            has_namesake = True
        if _selects(budget, labels):
            others.append(budget)
    return Budgets(own, tuple(others), has_namesake)


def budget_name(rollout: Json) -> str:
    """Name our budget; not as the Rollout: that is how people name their own."""
    name: str = rollout["metadata"]["name"]
    return f"{name[:_MAX_STEM_CHARS].rstrip('-.')}-rollout"


def min_available(rollout: Rollout) -> int:
    """Tell how many pods a drain must leave; where no successor can come first, one may go."""
    if can_surge(rollout):
        return maths.min_available(rollout)
    return max(0, rollout.replicas - max(1, maths.max_unavailable(rollout)))


def plan_budget(raw: Json, rollout: Rollout, budgets: Budgets, *, has_let_go: bool) -> BudgetPlan:
    """Decide whether there is a budget of ours, and what it says."""
    is_wanted = (
        rollout.disruption.budget is BudgetMode.MANAGED
        and not rollout.is_deleting
        and not budgets.others  # two budgets on one pod make every eviction fail
        and not has_let_go
    )
    if not is_wanted:
        return BudgetPlan(delete=budgets.own is not None)
    spec = _spec(rollout)
    if budgets.own is None:
        return BudgetPlan() if budgets.has_namesake else BudgetPlan(create=_body(raw, spec))
    if _covers(budgets.own.get("spec") or {}, spec):
        return BudgetPlan()
    return BudgetPlan(patch={"spec": {"maxUnavailable": None, **spec}})


def blocking(budgets: Budgets) -> Json | None:
    """Find a budget that lets no pod go now."""
    present = (*budgets.others, *((budgets.own,) if budgets.own is not None else ()))
    return next((budget for budget in present if _is_exhausted(budget)), None)


def patience_seconds(rollout: Rollout) -> float:
    """Tell how long a drain without any progress waits for our budget."""
    if not rollout.has_deadline:
        return _LONGEST_WAIT_SECONDS
    return float(max(rollout.progress_deadline_seconds, BLOCKED_SECONDS))


def _spec(rollout: Rollout) -> Json:
    return {
        "minAvailable": min_available(rollout),
        "selector": rollout.raw_selector,
        # A pod that serves nobody must never keep a node from being drained.
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
    }


def _body(raw: Json, spec: Json) -> Json:
    return {
        "apiVersion": POD_DISRUPTION_BUDGETS.api_version,
        "kind": POD_DISRUPTION_BUDGETS.kind,
        "metadata": {
            "name": budget_name(raw),
            "namespace": raw["metadata"]["namespace"],
            "ownerReferences": [owner_reference_to(raw, names.ROLLOUTS)],
        },
        "spec": spec,
    }


def _covers(found: Json, spec: Json) -> bool:
    return "maxUnavailable" not in found and all(found.get(key) == spec[key] for key in spec)


def _is_exhausted(budget: Json) -> bool:
    status: Json = budget.get("status") or {}
    return "disruptionsAllowed" in status and status["disruptionsAllowed"] == 0


def _selects(budget: Json, labels: Mapping[str, str]) -> bool:
    """Tell whether the budget covers pods with these labels: {} selects all, nothing none."""
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        return False
    try:
        return LabelSelector.parse(selector).matches(labels)
    except InvalidSelector:
        return False
