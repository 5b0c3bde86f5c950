"""What the runtime tells about itself.

Every class of this package takes an Instrumentation and calls it at the moment a thing happens.
The exporters package turns the calls into Prometheus series under the names of controller-runtime
and client-go, in a subclass; this package knows nothing of Prometheus and works without it.
A method must not block and must not raise.
"""

from typing import Final, Literal

ReconcileResult = Literal["success", "error", "requeue", "requeue_after"]
RECONCILE_RESULTS: Final[tuple[ReconcileResult, ...]] = (
    "success",
    "error",
    "requeue",
    "requeue_after",
)


class Instrumentation:
    """Receives what happened; every method does nothing unless a subclass says otherwise."""

    def controller_started(self, controller: str, workers: int) -> None:
        """A controller runs with so many workers; its series may be initialised to 0 now."""

    def reconcile_finished(self, controller: str, result: ReconcileResult, seconds: float) -> None:
        """One reconcile ended; a panic or a timeout is also an "error" here."""

    def reconcile_panicked(self, controller: str) -> None:
        """A reconcile raised something that is no LevelsetError: a bug, not a bad world."""

    def reconcile_timed_out(self, controller: str) -> None:
        """A reconcile was cut off at its timeout."""

    def active_workers(self, controller: str, count: int) -> None:
        """So many workers are inside a reconcile at this moment."""

    def queue_added(self, name: str) -> None:
        """A key entered the queue (a duplicate of a waiting key does not count)."""

    def queue_depth(self, name: str, depth: int) -> None:
        """So many keys are ready and wait for a worker."""

    def queue_latency(self, name: str, seconds: float) -> None:
        """A key waited so long between becoming ready and being taken."""

    def work_duration(self, name: str, seconds: float) -> None:
        """A key was held so long by its worker."""

    def queue_retry(self, name: str) -> None:
        """A key was put back with back-off."""

    def queue_unfinished(self, name: str, total_seconds: float, longest_seconds: float) -> None:
        """Work in progress: the sum over all workers, and the longest; told every few seconds."""

    def request_finished(self, verb: str, code: str, host: str, seconds: float) -> None:
        """One HTTP request to the API ended; code is "<error>" when there was no answer."""

    def leader(self, name: str, *, is_leading: bool) -> None:
        """This process gained or lost the lease of this name."""

    def list_result(self, kind: str, *, ok: bool) -> None:
        """A LIST of an informer ended."""

    def watch_result(self, kind: str, *, ok: bool) -> None:
        """A WATCH of an informer ended, by its own timeout (ok) or by an error."""

    def watch_restarted(self, kind: str, reason: str) -> None:
        """An informer starts over, and why."""

    def handler_failed(self, kind: str) -> None:
        """A handler of an informer raised; the informer went on."""

    def store_size(self, kind: str, size: int) -> None:
        """An informer's store holds so many objects."""

    def informer_stale(self, kind: str) -> None:
        """Somebody saw a newer resourceVersion than the informer has."""

    def event_dropped(self) -> None:
        """The event recorder threw one event away: queue full, spam, or the API refused it."""


NO_INSTRUMENTATION: Final = Instrumentation()
