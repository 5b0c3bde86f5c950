"""Bring one Application level: observe, decide, sync, report. No rule of its own.

The same call serves a push, a drift, a request and the periodic look; what is remembered in memory is
never needed for correctness, so a restart in the middle of anything is just another call.
"""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from gitops_agent.diff.compare import ObjectDiff
from gitops_agent.diff.ownership import other_managers
from gitops_agent.errors import GitOpsError, InvalidSpec
from gitops_agent.metrics import AgentMetrics
from gitops_agent.names import APPLICATIONS, FIELD_MANAGER
from gitops_agent.observer import Observer
from gitops_agent.reporting import Findings, failure_report, report_of
from gitops_agent.resources import Application, InventoryEntry, Operation, Spec, SyncRequest
from gitops_agent.status_writer import StatusWriter
from gitops_agent.sync.convergence import Convergence
from gitops_agent.sync.decision import Cause, Decision, SyncQuestion, decide
from gitops_agent.sync.prune import plan_prune
from gitops_agent.sync.syncer import Outcome, Syncer, SyncOrder
from gitops_agent.world import World
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.conditions import find_condition
from kube_runtime.controller import Result
from kube_runtime.errors import ApiError, Forbidden, LevelsetError
from kube_runtime.events import EventRecorder
from kube_runtime.logs import fields
from kube_runtime.resource import Key, is_deleting
from kube_runtime.store import Store

_LOG: Final = logging.getLogger(__name__)
_JITTER: Final = 0.2
_SHORTEST_WAIT_SECONDS: Final = 0.1


class ApplicationReconciler:
    """Reconciles Applications by key."""

    def __init__(
        self,
        *,
        applications: Store,
        observer: Observer,
        syncer: Syncer,
        writer: StatusWriter,
        events: EventRecorder,
        metrics: AgentMetrics,
        mark_stale: Callable[[str], None],
        poll_seconds: float,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._applications = applications
        self._observer = observer
        self._syncer = syncer
        self._writer = writer
        self._events = events
        self._metrics = metrics
        self._mark_stale = mark_stale
        self._poll_seconds = poll_seconds
        self._clock = clock
        self._convergence: dict[Key, Convergence] = {}

    async def reconcile(self, key: Key) -> Result:
        """Bring one Application level; safe to call at any time, any number of times."""
        stored = self._applications.get(key)
        if stored is None:
            self._forget(key)
            return Result.DONE
        raw = self._writer.newest(key, stored)
        if is_deleting(raw):
            return Result.DONE
        application = Application.of(raw)
        try:
            return await self._level(application)
        except (GitOpsError, Forbidden) as error:
            return await self._cannot_compare(application, error)

    async def _level(self, application: Application) -> Result:
        spec = application.spec()
        request = _checked(application.request(), spec)
        if request is not None:
            self._mark_stale(spec.source.url.index_key)
        target = (request.revision if request else None) or spec.source.target_revision
        commit, shown = await self._observer.resolve(application, spec, target)
        world = await self._observer.look(application, spec, commit, shown)
        decision = self._decide(world, request)
        if decision.cause is not None:
            return await self._sync(world, decision, decision.cause, request)
        self._metrics.nothing_to_apply(application.key)
        await self._report(world, application.operation)
        return self._next_look(decision)

    def _decide(self, world: World, request: SyncRequest | None) -> Decision:
        plan = plan_prune(world.prune_question())
        decision = decide(
            SyncQuestion(
                request=request,
                automated=world.spec.automated,
                retry=world.spec.retry,
                operation=world.application.operation,
                attempt=world.attempt(),
                is_different=bool(world.different),
                is_healable=any(self._pause(world, t.id) <= 0 for t in world.different),
                would_prune=bool(plan.delete) and world.spec.may_prune,
                now=self._clock.now(),
            )
        )
        pauses = [self._pause(world, target.id) for target in world.different]
        if decision.cause is None and decision.look_again_after is None and any(pauses):
            return replace(decision, look_again_after=min(p for p in pauses if p > 0))
        return decision

    async def _sync(
        self, world: World, decision: Decision, cause: Cause, request: SyncRequest | None
    ) -> Result:
        application, began = world.application, self._clock.monotonic()
        operation = self._started(world, request)
        recorded: list[InventoryEntry] = []

        async def record(entries: Sequence[InventoryEntry]) -> None:
            recorded[:] = entries
            started = replace(world, inventory=tuple(entries))
            await self._report(started, operation)

        order = SyncOrder(
            world,
            todo=tuple(
                t for t in world.different if cause != "drift" or not self._pause(world, t.id)
            ),
            prune=decision.prune,
            is_confirmed=request is not None and request.prune,
        )
        problem: LevelsetError | None = None
        try:
            outcome = await self._syncer.sync(order, record)
        except (GitOpsError, ApiError) as error:
            problem = error
            after = replace(world, inventory=tuple(recorded) or world.inventory)
            after = await self._observer.look_again(after)
            operation = replace(operation, phase="Failed", message=error.diagnostics())
        else:
            after = outcome.world
            self._note(outcome, world, cause)
            operation = replace(
                operation,
                phase="Succeeded",
                message=_summary(outcome),
                forced=outcome.forced,
                retry_count=0,
            )
        seconds = self._clock.monotonic() - began
        self._metrics.synced(cause, seconds, is_success=problem is None)
        self._tell(application, operation, cause)
        await self._report(after, replace(operation, finished_at=self._clock.now()), problem)
        return (
            Result(requeue_after=_SHORTEST_WAIT_SECONDS) if problem else self._next_look(Decision())
        )

    def _started(self, world: World, request: SyncRequest | None) -> Operation:
        before, attempt = world.application.operation, world.attempt()
        has_failed = before.attempt == attempt and before.phase in ("Failed", "Error")
        return Operation(
            id=request.id if request is not None else before.id,
            phase="Running",
            revision=world.commit,
            attempt=attempt,
            retry_count=before.retry_count + 1 if has_failed and request is None else 0,
            started_at=self._clock.now(),
        )

    def _note(self, outcome: Outcome, before: World, cause: Cause) -> None:
        self._metrics.applied(len(outcome.applied))
        self._metrics.pruned(len(outcome.pruned))
        if cause == "drift":
            memory = self._convergence.setdefault(before.application.key, Convergence())
            healed = [
                (diff, other_managers(before.live[diff.id] or {"metadata": {}}, FIELD_MANAGER))
                for diff in outcome.applied
            ]
            memory.healed(healed, self._clock.monotonic())

    async def _report(
        self, world: World, operation: Operation, problem: LevelsetError | None = None
    ) -> None:
        key = world.application.key
        memory = self._convergence.get(key)
        plan = plan_prune(world.prune_question())
        if plan.held and find_condition(world.application.conditions, "PruneHeld") is None:
            self._metrics.held(len(plan.held))
        report = report_of(
            Findings(
                world=world,
                plan=plan,
                operation=operation,
                problem=problem,
                fights=memory.fights(self._clock.monotonic()) if memory else {},
            )
        )
        stored = self._applications.get(key)
        newest = Application.of(self._writer.newest(key, stored)) if stored else world.application
        await self._writer.write(newest, report)
        self._metrics.compared(key, report.sync, report.health.status.name)

    async def _cannot_compare(self, application: Application, error: LevelsetError) -> Result:
        self._metrics.failed(error.reason)
        _LOG.warning(
            "application cannot be compared",
            extra=fields(application=application.key, reason=error.reason, error=error),
        )
        report = failure_report(application, error, _answered(application, error, self._clock))
        await self._writer.write(application, report)
        self._metrics.compared(application.key, report.sync, report.health.status.name)
        wait = self._poll_seconds if error.retry_after is None else error.retry_after
        return Result(requeue_after=min(wait, self._poll_seconds))

    def _tell(self, application: Application, operation: Operation, cause: Cause) -> None:
        is_good = operation.phase == "Succeeded"
        message = f"{operation.revision[:12]} ({cause}): {operation.message}"
        self._events.event(
            application.raw,
            APPLICATIONS,
            type="Normal" if is_good else "Warning",
            reason="Synced" if is_good else "SyncFailed",
            message=message,
            action="Sync",
        )
        _LOG.log(
            logging.INFO if is_good else logging.WARNING,
            "sync ended",
            extra=fields(
                application=application.key,
                cause=cause,
                phase=operation.phase,
                revision=operation.revision,
                message=operation.message,
            ),
        )

    def _pause(self, world: World, object_id: object) -> float:
        memory = self._convergence.get(world.application.key)
        if memory is None:
            return 0.0
        diff: ObjectDiff = world.diffs[object_id]  # type: ignore[index]
        return memory.pause_seconds(diff, self._clock.monotonic())

    def _next_look(self, decision: Decision) -> Result:
        poll = self._poll_seconds * random.uniform(1.0, 1.0 + _JITTER)  # noqa: S311 - spreads load
        wait = decision.look_again_after
        return Result(requeue_after=poll if wait is None else min(poll, wait))

    def _forget(self, key: Key) -> None:
        self._observer.forget(key)
        self._metrics.forget(key)
        self._convergence.pop(key, None)


def _checked(request: SyncRequest | None, spec: Spec) -> SyncRequest | None:
    if request is not None and request.revision is not None and spec.automated is not None:
        raise InvalidSpec(
            f"sync to {request.revision!r}: spec.syncPolicy.automated would at once sync back to "
            f"{spec.source.target_revision!r}; edit spec.source.targetRevision instead"
        )
    return request


def _answered(application: Application, error: LevelsetError, clock: Clock) -> Operation:
    """Answer a request that cannot even be begun; without one the last operation stands."""
    try:
        request = application.request()
    except InvalidSpec:
        request = None
    if request is None:
        return application.operation
    now = clock.now()
    return Operation(
        id=request.id,
        phase="Error",
        message=error.diagnostics(),
        started_at=now,
        finished_at=now,
    )


def _summary(outcome: Outcome) -> str:
    parts = [f"{len(outcome.applied)} applied", f"{len(outcome.pruned)} pruned"]
    if outcome.forced:
        parts.append(f"{len(outcome.forced)} fields taken from other managers")
    return ", ".join(parts)
