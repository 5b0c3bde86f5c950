"""Brings the pods of one PodSet level with its spec: observe, plan, apply.

The decisions are in plan.py and status.py; here are reading, writing and nothing else.
One sync asks the API server for the live PodSet at most once, and writes nothing when all is level.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from kube_runtime.api import ApiClient
from kube_runtime.controller import Result
from kube_runtime.errors import Conflict, NotFound
from kube_runtime.expectations import Expectations, Outlook
from kube_runtime.informer import Informer
from kube_runtime.ownership import adopt, plan_claims, release
from kube_runtime.resource import PODS, Json, Key, resource_version_of
from kube_runtime.selectors import InvalidSelector
from kube_runtime.store import Store
from workloads import names
from workloads.metrics import WorkloadsMetrics
from workloads.owner import confirm_owner
from workloads.pods import parse_pod
from workloads.podset.nodes import DisruptedNodes
from workloads.podset.parsed_pods import ParsedPods
from workloads.podset.plan import Plan, World, plan_pods
from workloads.podset.pod_writer import PodWriter
from workloads.podset.resources import PodSet, PodSetStatus, parse_podset
from workloads.podset.server_clock import ServerClock
from workloads.podset.status import Failure, invalid_status, next_status
from workloads.writes import write_status

OWNER_INDEX: Final = "owner"
ORPHAN_INDEX: Final = "orphans"
_OWN_KIND: Final = "podsets"


@dataclass(frozen=True, slots=True)
class Sight:
    """A PodSet as it was read, raw and parsed, with the raw objects that a plan may name."""

    raw: Json
    podset: PodSet
    world: World
    raw_pods: dict[str, Json] = field(default_factory=dict)


class PodSetReconciler:
    """The PodSet controller's work on one key."""

    def __init__(
        self,
        api: ApiClient,
        *,
        podsets: Store,
        pods: Informer,
        nodes: DisruptedNodes,
        writer: PodWriter,
        expectations: Expectations[Key],
        metrics: WorkloadsMetrics,
        clock: ServerClock,
        random_source: random.Random,
    ) -> None:
        self._api = api
        self._podsets = podsets
        self._pods = pods
        self._nodes = nodes
        self._writer = writer
        self._expectations = expectations
        self._metrics = metrics
        self._clock = clock
        self._random = random_source
        self._doubtful = writer.doubtful
        self._parsed = ParsedPods()

    async def reconcile(self, key: Key) -> Result:
        """Bring the pods level with the spec; safe to call at any time, any number of times."""
        raw = self._podsets.get(key)
        if raw is None:
            self._expectations.forget(key)
            self._doubtful.discard(key)
            self._parsed.forget(key)
            return Result.DONE
        if not await self._is_settled(key):
            # Nobody counts pods, not even for the status, before the cache shows our own writes.
            return Result(requeue_after=self._expectations.seconds_until_expiry(key))
        try:
            podset = parse_podset(raw)
        except InvalidSelector as error:
            return await self._refuse(raw, error)
        return await self._sync(self._observe(raw, podset))

    async def _sync(self, sight: Sight) -> Result:
        now = self._clock.now()
        plan = plan_pods(sight.world, now=now, random_source=self._random)
        try:
            failure = await self._apply(sight, plan)
        except BaseException:
            if not self._expectations.is_satisfied(sight.podset.key):
                self._doubtful.add(sight.podset.key)  # cut off in the middle of its writes
            raise
        status = next_status(
            sight.podset,
            sight.world.pods,
            failure=failure,
            now=now,
            backoff=plan.backoff,
            disrupted_nodes=sight.world.disrupted_nodes,
        )
        is_written = await self._write_status(sight.raw, sight.podset.status, status)
        if failure is not None or not is_written:
            return Result(requeue=True)
        return Result(requeue_after=plan.look_again_after)

    async def _is_settled(self, key: Key) -> bool:
        """Tell whether the caches show our last writes; list anew when they are late or in doubt."""
        seen = self._podsets.resource_version
        if not self._expectations.store_has_seen_writes(key, seen, kind=_OWN_KIND):
            return False
        outlook = self._expectations.outlook(
            key, store_resource_version=self._pods.store.resource_version, kind=PODS.plural
        )
        if key in self._doubtful or outlook is Outlook.LOOK:
            self._metrics.expectations_expired(PODS.kind)
            await self._pods.relist()
            self._expectations.forget(key)
            self._doubtful.discard(key)
            return True
        return outlook is Outlook.SATISFIED

    def _observe(self, raw: Json, podset: PodSet) -> Sight:
        store = self._pods.store
        candidates = [
            *store.by_index(OWNER_INDEX, podset.uid),
            *store.by_index(ORPHAN_INDEX, podset.key.namespace),
        ]
        claims = plan_claims(raw, podset.selector, candidates)
        adopted = tuple(map(parse_pod, claims.adopt))
        pods = (*self._parsed.parse(podset.key, claims.keep), *adopted)
        world = World(
            podset,
            pods,
            adopt=adopted,
            release=tuple(map(parse_pod, claims.release)),
            related_on_node=self._related_on_node(podset, len(pods)),
            disrupted_nodes=self._nodes.names,
        )
        claimed = {pod["metadata"]["name"]: pod for pod in (*claims.adopt, *claims.release)}
        return Sight(raw, podset, world, claimed)

    def _related_on_node(self, podset: PodSet, count: int) -> dict[str, int]:
        """Count the active pods of the same Rollout by node; only a deletion asks for it."""
        if podset.controller is None or count <= podset.replicas:
            return {}
        siblings = self._podsets.by_index(OWNER_INDEX, podset.controller.uid)
        related = (
            parse_pod(pod)
            for sibling in siblings
            for pod in self._pods.store.by_index(OWNER_INDEX, sibling["metadata"]["uid"])
        )
        return Counter(pod.node for pod in related if pod.is_active)

    async def _apply(self, sight: Sight, plan: Plan) -> Failure | None:
        for pod in plan.release:
            await self._release(sight, sight.raw_pods[pod.name])
        if plan.needs_owner:
            await confirm_owner(self._api, names.PODSETS, sight.raw)
        for pod in plan.adopt:
            await self._adopt(sight, sight.raw_pods[pod.name])
        failure = None
        if plan.create:
            failure = await self._writer.create(sight.raw, plan.create)
        if plan.delete:
            failure = await self._writer.delete(sight.raw, plan.delete)
        if plan.collect:
            failure = await self._writer.collect(sight.raw, plan.collect) or failure
        return failure

    async def _adopt(self, sight: Sight, pod: Json) -> None:
        written = await adopt(
            self._api,
            PODS,
            pod,
            owner=sight.raw,
            owner_resource=names.PODSETS,
            field_manager=names.FIELD_MANAGER,
        )
        self._metrics.claimed(PODS.kind, "adopt")
        self._record(sight.podset.key, written, PODS.plural)

    async def _release(self, sight: Sight, pod: Json) -> None:
        written = await release(
            self._api,
            PODS,
            pod,
            owner_uid=sight.podset.uid,
            field_manager=names.FIELD_MANAGER,
        )
        self._metrics.claimed(PODS.kind, "release")
        self._record(sight.podset.key, written, PODS.plural)

    async def _refuse(self, raw: Json, error: InvalidSelector) -> Result:
        """Say in the status what is wrong with the spec; only a new spec can help."""
        old = PodSetStatus.from_json(raw.get("status") or {})
        generation = raw["metadata"].get("generation", 0)
        status = invalid_status(old, error, generation=generation, now=self._clock.now())
        is_written = await self._write_status(raw, old, status)
        return Result.DONE if is_written else Result(requeue=True)

    async def _write_status(self, raw: Json, old: PodSetStatus, new: PodSetStatus) -> bool:
        """Write the status if it says something new; False when somebody wrote in between."""
        if new.to_json() == old.to_json():
            return True
        try:
            written = await write_status(self._api, names.PODSETS, raw, new.to_json())
        except NotFound:
            return True
        except Conflict:
            return False
        self._record(Key.of(raw), written, _OWN_KIND)
        return True

    def _record(self, key: Key, written: Json | None, kind: str) -> None:
        if written is not None:
            self._expectations.record_write(key, resource_version_of(written), kind=kind)
