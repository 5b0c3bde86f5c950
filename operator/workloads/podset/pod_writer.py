"""Makes and deletes the pods of a PodSet, and keeps the expectations true while doing so.

What will be done is expected before it is asked for, and struck off when it certainly did not
happen; what may have happened stays expected, and its PodSet is put among the doubtful ones.
Called by the reconciler alone.
"""

from dataclasses import dataclass
from typing import Final

from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    KubeError,
    NotFound,
    Unreachable,
)
from kube_runtime.events import EventRecorder
from kube_runtime.expectations import Expectations
from kube_runtime.resource import PODS, Json, Key, controller_uid_of, uid_of
from workloads import names
from workloads.errors import NameTakenError, RefusedError
from workloads.metrics import WorkloadsMetrics
from workloads.pods import Pod
from workloads.podset.blocking import reason_of_refusal
from workloads.podset.pod_body import pod_factory
from workloads.podset.server_clock import ServerClock
from workloads.podset.slow_start import Attempts, run_slow_start
from workloads.podset.status import Failure
from workloads.writes import for_all, is_namespace_terminating, is_outcome_known, until_known

_FAILED_CREATE: Final = "FailedCreate"
_FAILED_DELETE: Final = "FailedDelete"


@dataclass(frozen=True, slots=True)
class PodWriter:
    """Writes pods for all PodSets of the process."""

    api: ApiClient
    expectations: Expectations[Key]
    events: EventRecorder
    metrics: WorkloadsMetrics
    clock: Clock
    server_clock: ServerClock
    max_in_flight: int
    doubtful: set[Key]
    """PodSets of which it is not known what their last writes did: list before acting again."""

    async def create(self, podset: Json, pod_names: tuple[str, ...]) -> Failure | None:
        """Create pods of these names, slowly at first; say why not all could be made."""
        key, body = Key.of(podset), pod_factory(podset)
        self.expectations.expect_creations(key, pod_names)

        async def attempt(name: str) -> None:
            await self._create_one(podset, body(name))
            self.metrics.pod_created("success")
            self._tell(podset, "SuccessfulCreate", f"Created pod: {name}")

        attempts = await run_slow_start(
            pod_names,
            attempt,
            max_in_flight=self.max_in_flight,
            expected_errors=(KubeError, NameTakenError, RefusedError),
        )
        return self._settle_creations(podset, attempts)

    async def delete(self, podset: Json, pods: tuple[Pod, ...]) -> Failure | None:
        """Delete these very pods at once; say why one could not be deleted."""
        return await self._delete_all(podset, pods, "SuccessfulDelete", "Deleted pod")

    async def collect(self, podset: Json, pods: tuple[Pod, ...]) -> Failure | None:
        """Delete these very pods, which have ended; say why one could not be deleted."""
        return await self._delete_all(podset, pods, "SuccessfulCollect", "Deleted ended pod")

    async def _delete_all(
        self, podset: Json, pods: tuple[Pod, ...], reason: str, note: str
    ) -> Failure | None:
        key = Key.of(podset)
        self.expectations.expect_deletions(key, (pod.uid for pod in pods))
        failures: list[Failure] = []

        async def attempt(pod: Pod) -> None:
            try:
                await self._delete_one(key, pod)
            except KubeError as error:
                failures.append(self._failed_deletion(podset, error))
            else:
                self.metrics.pod_deleted("success")
                self._tell(podset, reason, f"{note}: {pod.name}")

        await for_all(pods, attempt, max_in_flight=self.max_in_flight)
        return failures[0] if failures else None

    async def _create_one(self, podset: Json, body: Json) -> None:
        """Create one pod; one of that name that is ours already was made by an earlier try."""
        tries = 0

        async def attempt() -> Json:
            nonlocal tries
            tries += 1
            return await self.api.create(PODS, body, field_manager=names.FIELD_MANAGER)

        try:
            made = await until_known(attempt, self.clock)
            self.server_clock.saw_created(made)
        except AlreadyExists as error:
            if not await self._is_ours(podset, body):
                name = body["metadata"]["name"]
                raise NameTakenError(f"pod {name} belongs to somebody else") from error
        except ApiError as error:
            is_refused = is_outcome_known(error) or reason_of_refusal(error) is not None
            if tries == 1 or not is_refused:
                raise
            # The last try was refused; that says nothing of those before it.
            if not await self._is_ours(podset, body):
                raise RefusedError(error) from error

    async def _is_ours(self, podset: Json, body: Json) -> bool:
        """Look who has the name; raise Unreachable when nobody can tell."""
        key = Key.of(body)
        try:
            live = await self.api.get(PODS, key.name, namespace=key.namespace)
        except NotFound:
            return False
        except KubeError as error:  # whatever refused the question, the answer is not known
            raise Unreachable(f"cannot tell whether pod {key.name} was made: {error}") from error
        return controller_uid_of(live) == uid_of(podset)

    def _settle_creations(self, podset: Json, attempts: Attempts[str]) -> Failure | None:
        key = Key.of(podset)
        for name in attempts.skipped:
            self.expectations.creation_observed(key, name)
        failures = [self._failed_creation(podset, name, error) for name, error in attempts.failed]
        return next((failure for failure in failures if failure is not None), None)

    def _failed_creation(self, podset: Json, name: str, error: Exception) -> Failure | None:
        if is_outcome_known(error):
            self.expectations.creation_observed(Key.of(podset), name)
        else:
            self.doubtful.add(Key.of(podset))
        answer = error.answer if isinstance(error, RefusedError) else error
        if isinstance(answer, KubeError) and is_namespace_terminating(answer):
            return None  # nothing is wrong, and nobody is left to be told
        self.metrics.pod_created("failure")
        # The name is another one at each try; without it the message, and so the status, rests.
        message = str(error).replace(name, f"{podset['metadata']['name']}-…")
        self._warn(podset, _FAILED_CREATE, f"Error creating: {message}")
        return Failure(_FAILED_CREATE, message, reason_of_refusal(answer))

    async def _delete_one(self, key: Key, pod: Pod) -> None:
        tries = 0

        async def attempt() -> Json:
            nonlocal tries
            tries += 1
            return await self.api.delete(PODS, pod.name, namespace=key.namespace, uid=pod.uid)

        try:
            await until_known(attempt, self.clock)
        except (NotFound, Conflict):  # gone, or another pod of that name
            self.expectations.deletion_observed(key, pod.uid)
        except KubeError as error:
            if tries == 1 and is_outcome_known(error):
                self.expectations.deletion_observed(key, pod.uid)
            else:  # an earlier try may have worked, whatever became of the last one
                self.doubtful.add(key)
            raise

    def _failed_deletion(self, podset: Json, error: KubeError) -> Failure:
        self.metrics.pod_deleted("failure")
        self._warn(podset, _FAILED_DELETE, f"Error deleting: {error}")
        return Failure(_FAILED_DELETE, str(error))

    def _tell(self, podset: Json, reason: str, message: str) -> None:
        self.events.event(podset, names.PODSETS, reason=reason, message=message)

    def _warn(self, podset: Json, reason: str, message: str) -> None:
        self.events.event(podset, names.PODSETS, type="Warning", reason=reason, message=message)
