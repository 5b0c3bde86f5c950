"""The agent's instruments as named methods; the names and labels live in exporters' catalogue."""

import time
from collections.abc import Callable
from typing import Final

from exporters.instrument import Instruments
from gitops_agent.sync.decision import Cause
from kube_runtime.resource import Key

_LONGEST_PUSH_SECONDS: Final = 600.0


class AgentMetrics:
    """Observes the agent."""

    def __init__(
        self, instruments: Instruments, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._monotonic = monotonic
        self._applications = instruments.gauge("levelset_gitops_applications")
        self._syncs = instruments.counter("levelset_gitops_syncs_total")
        self._sync_seconds = instruments.histogram("levelset_gitops_sync_duration_seconds")
        self._push_seconds = instruments.histogram("levelset_gitops_push_to_apply_seconds")
        self._applied = instruments.counter("levelset_gitops_objects_applied_total")
        self._pruned = instruments.counter("levelset_gitops_objects_pruned_total")
        self._held = instruments.counter("levelset_gitops_prunes_held_total")
        self._failures = instruments.counter("levelset_gitops_failures_total")
        self._git = instruments.counter("levelset_gitops_git_requests_total")
        self._git_seconds = instruments.histogram("levelset_gitops_git_request_duration_seconds")
        self._renders = instruments.counter("levelset_gitops_renders_total")
        self._hints = instruments.counter("levelset_gitops_push_hints_total")
        self._states: dict[Key, tuple[str, str]] = {}
        self._pushed: dict[Key, float] = {}

    def git_requested(self, request: str, result: str, seconds: float) -> None:
        """Count one network request to a repository."""
        self._git.labels(request=request, result=result).inc()
        self._git_seconds.labels(request=request).observe(seconds)

    def rendered(self, tool: str, *, cached: bool) -> None:
        """Count one render."""
        self._renders.labels(tool=tool, cached="true" if cached else "false").inc()

    def hint(self, sender: str, result: str) -> None:
        """Count one request to the push webhook."""
        self._hints.labels(sender=sender, result=result).inc()

    def pushed(self, application: Key) -> None:
        """Start the clock of a push for an Application."""
        self._pushed.setdefault(application, self._monotonic())

    def applying(self, application: Key) -> None:
        """Stop the clock of a push: the first object of the new commit is about to be applied."""
        started = self._pushed.pop(application, None)
        if started is not None and self._monotonic() - started < _LONGEST_PUSH_SECONDS:
            self._push_seconds.observe(self._monotonic() - started)

    def compared(self, application: Key, sync: str, health: str) -> None:
        """Note what a comparison found; an Application counts once."""
        before, now = self._states.get(application), (sync, health)
        if before == now:
            return
        self.forget(application)
        self._states[application] = now
        self._applications.labels(sync=sync, health=health).inc()

    def forget(self, application: Key) -> None:
        """Take an Application that is gone out of the counts."""
        before = self._states.pop(application, None)
        if before is not None:
            self._applications.labels(sync=before[0], health=before[1]).dec()

    def nothing_to_apply(self, application: Key) -> None:
        """Drop the clock of a push that changes nothing for this Application."""
        self._pushed.pop(application, None)

    def synced(self, cause: Cause, seconds: float, *, is_success: bool) -> None:
        """Count one sync."""
        self._syncs.labels(cause=cause, result="succeeded" if is_success else "failed").inc()
        self._sync_seconds.observe(seconds)

    def applied(self, count: int) -> None:
        """Count applied objects."""
        self._applied.inc(count)

    def pruned(self, count: int) -> None:
        """Count deleted objects."""
        self._pruned.inc(count)

    def held(self, count: int) -> None:
        """Count objects whose deletion is held back, when that becomes known."""
        self._held.inc(count)

    def failed(self, reason: str) -> None:
        """Count a reconcile that ended in an error."""
        self._failures.labels(reason=reason).inc()
