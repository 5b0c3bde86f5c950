"""What the two controllers count, as methods with names; the catalogue declares the series."""

from typing import Literal

from exporters.instrument import Instruments

Result = Literal["success", "failure"]


class WorkloadsMetrics:
    """The part's counters over the process's instruments."""

    def __init__(self, instruments: Instruments) -> None:
        self._created = instruments.counter("levelset_pod_creations_total")
        self._deleted = instruments.counter("levelset_pod_deletions_total")
        self._claims = instruments.counter("levelset_claims_total")
        self._scalings = instruments.counter("levelset_podset_scalings_total")
        self._finished = instruments.counter("levelset_rollouts_finished_total")
        self._rollbacks = instruments.counter("levelset_rollbacks_total")
        self._collisions = instruments.counter("levelset_template_hash_collisions_total")
        self._distrusted = instruments.counter("levelset_expectations_expired_total")

    def pod_created(self, result: Result) -> None:
        """A pod was created, or was refused."""
        self._created.labels(result).inc()

    def pod_deleted(self, result: Result) -> None:
        """A superfluous pod was deleted, or could not be."""
        self._deleted.labels(result).inc()

    def claimed(self, kind: str, action: Literal["adopt", "release"]) -> None:
        """An orphan was adopted, or a stray released."""
        self._claims.labels(kind, action).inc()

    def podset_scaled(self, direction: Literal["up", "down"]) -> None:
        """A Rollout gave one of its PodSets another size."""
        self._scalings.labels(direction).inc()

    def rollout_finished(self, outcome: Literal["complete", "deadline_exceeded"]) -> None:
        """A rollout came to its end, a good or a bad one."""
        self._finished.labels(outcome).inc()

    def rolled_back(self, reason: str) -> None:
        """A revision failed and made way for the last good one."""
        self._rollbacks.labels(reason).inc()

    def hash_collided(self) -> None:
        """Two different templates got the same hash, or somebody took the name."""
        self._collisions.inc()

    def expectations_expired(self, kind: str) -> None:
        """The cache did not show our own writes in time, so it was listed anew."""
        self._distrusted.labels(kind).inc()
