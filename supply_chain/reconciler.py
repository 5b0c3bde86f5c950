"""Tells in a policy's status whether it can be applied: observe, judge, write if it changed."""

from collections.abc import Sequence

from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.conditions import Condition, Verdict, kstatus, parse_conditions
from kube_runtime.controller import Result
from kube_runtime.errors import NotFound
from kube_runtime.informer import Informer
from kube_runtime.resource import Json, Key, generation_of, is_deleting
from supply_chain import names
from supply_chain.materials import Materials, ReadyPolicy
from supply_chain.policies import PolicyIndex
from supply_chain.resources import ImagePolicy

_LOOK_AGAIN_SECONDS = 60.0  # at keys and roots in Secrets and ConfigMaps, which nobody watches


class PolicyReconciler:
    """Writes the conditions of one kind of policy; it never stands in the way of admission."""

    def __init__(
        self,
        api: ApiClient,
        informer: Informer,
        index: PolicyIndex,
        materials: Materials,
        *,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api = api
        self._informer = informer
        self._index = index
        self._materials = materials
        self._clock = clock

    async def reconcile(self, key: Key) -> Result:
        """Bring the status of one policy level with what it says."""
        raw = self._informer.store.get(key)
        policy = self._index.get(self._informer.resource.kind, key)
        if raw is None or policy is None or is_deleting(raw):
            return Result.DONE
        ready = await self._materials.ready(policy)
        old = parse_conditions((raw.get("status") or {}).get("conditions"))
        conditions = self._conditions(policy, ready, old)
        if conditions != old or _observed(raw) != policy.generation:
            await self._write(raw, conditions)
        return Result(requeue_after=_LOOK_AGAIN_SECONDS)

    def _conditions(
        self, policy: ImagePolicy, ready: ReadyPolicy, old: Sequence[Condition]
    ) -> list[Condition]:
        verdict = judge(policy, ready)
        is_stalled = verdict.reason == "InvalidPolicy"
        return kstatus(
            old,
            self._clock.now(),
            generation=policy.generation,
            ready=verdict,
            stalled=Verdict("True", verdict.reason, verdict.message) if is_stalled else None,
        )

    async def _write(self, raw: Json, conditions: Sequence[Condition]) -> None:
        resource = self._informer.resource
        metadata = {k: raw["metadata"][k] for k in ("name", "namespace") if k in raw["metadata"]}
        body: Json = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {**metadata, "uid": raw["metadata"]["uid"]},
            "status": {
                "observedGeneration": generation_of(raw),
                "conditions": [condition.to_json() for condition in conditions],
            },
        }
        try:
            await self._api.apply(
                resource, body, field_manager=names.FIELD_MANAGER, force=True, subresource="status"
            )
        except NotFound:
            return  # deleted meanwhile


def judge(policy: ImagePolicy, ready: ReadyPolicy) -> Verdict:
    """Say whether the policy can be applied, and what is wrong if not."""
    if policy.problem is not None:
        return Verdict("False", "InvalidPolicy", policy.problem)
    if ready.problems:
        first = ready.problems[0]
        message = f"authority {first.authority} vouches for nothing: {first.why}"
        return Verdict("False", "AuthorityUnavailable", message)
    count = len(ready.authorities)
    images = len(policy.images)
    message = f"{images} image pattern(s), {count} authority(ies), any one suffices"
    return Verdict("True", "Enforced", message)


def _observed(raw: Json) -> object:
    return (raw.get("status") or {}).get("observedGeneration")
