"""Makes, changes and deletes the PodSets of a Rollout. Called by the reconciler alone.

Names are those of the template's hash, so a POST may be repeated; changes name the
resourceVersion that they were planned on, deletions the UID.
"""

from dataclasses import dataclass
from typing import Final

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.clock import Clock
from kube_runtime.errors import AlreadyExists, Conflict, NotFound
from kube_runtime.events import EventRecorder
from kube_runtime.ownership import owner_reference_to
from kube_runtime.resource import Json, controller_uid_of, is_deleting, uid_of
from workloads import names, templates
from workloads.errors import NameTakenError
from workloads.metrics import WorkloadsMetrics
from workloads.podset.resources import PodSet
from workloads.rollout.plan import Change
from workloads.writes import until_known

SCALING: Final = "ScalingPodSet"


@dataclass(frozen=True, slots=True)
class PodSetWriter:
    """Writes PodSets for all Rollouts of the process."""

    api: ApiClient
    events: EventRecorder
    metrics: WorkloadsMetrics
    clock: Clock

    async def create(self, rollout: Json, podset: PodSet) -> Json:
        """Create the PodSet of a new revision, or find it made by an earlier try of ours.

        Raises NameTakenError when another template or another owner has the name.
        """
        body = podset_body(rollout, podset)
        try:
            written = await until_known(
                lambda: self.api.create(names.PODSETS, body, field_manager=names.FIELD_MANAGER),
                self.clock,
            )
        except AlreadyExists as error:
            return await self._ours_or_raise(rollout, podset, error)
        self._tell_scaling(rollout, podset, before=0)
        return written

    async def change(self, rollout: Json, change: Change) -> Json:
        """Write what differs; raises Conflict when the PodSet has changed in between."""
        before, after = change.before, change.after
        written = await self.api.patch(
            names.PODSETS,
            after.key.name,
            change_patch(change),
            namespace=after.key.namespace,
            type=PatchType.MERGE,
            field_manager=names.FIELD_MANAGER,
        )
        self._tell_scaling(rollout, after, before=before.replicas)
        return written

    async def forget(self, podset: PodSet) -> None:
        """Delete the PodSet of an old revision; one that is gone or changed is no error."""
        try:
            await self.api.delete(
                names.PODSETS,
                podset.key.name,
                namespace=podset.key.namespace,
                uid=podset.uid,
                resource_version=podset.resource_version,
            )
        except (NotFound, Conflict):
            return

    async def _ours_or_raise(self, rollout: Json, podset: PodSet, error: AlreadyExists) -> Json:
        live = await self.api.get(names.PODSETS, podset.key.name, namespace=podset.key.namespace)
        is_ours = controller_uid_of(live) == uid_of(rollout) and not is_deleting(live)
        if is_ours and templates.are_equal(live["spec"]["template"], podset.template):
            return live
        raise NameTakenError(
            f"PodSet {podset.key}: expected the name to be free, found another template, "
            "another owner or one that is being deleted; the next try takes another name"
        ) from error

    def _tell_scaling(self, rollout: Json, podset: PodSet, *, before: int) -> None:
        if podset.replicas == before:
            return
        direction = "up" if podset.replicas > before else "down"
        if direction == "up":
            self.metrics.podset_scaled("up")
        else:
            self.metrics.podset_scaled("down")
        message = f"Scaled {direction} podset {podset.key.name} from {before} to {podset.replicas}"
        self.events.event(rollout, names.ROLLOUTS, reason=SCALING, message=message)


def podset_body(rollout: Json, podset: PodSet) -> Json:
    """Build the PodSet to create."""
    return {
        "apiVersion": names.PODSETS.api_version,
        "kind": names.PODSETS.kind,
        "metadata": {
            "name": podset.key.name,
            "namespace": podset.key.namespace,
            "labels": dict(podset.labels),
            "annotations": dict(podset.annotations),
            "ownerReferences": [owner_reference_to(rollout, names.ROLLOUTS)],
        },
        "spec": {
            "replicas": podset.replicas,
            "minReadySeconds": podset.min_ready_seconds,
            "drainSeconds": podset.drain_seconds,
            "defaults": podset.defaults.to_json(),
            "selector": podset.raw_selector,
            "template": podset.template,
        },
    }


def change_patch(change: Change) -> Json:
    """Build the merge patch from before to after; null takes an annotation away."""
    before, after = change.before, change.after
    annotations: dict[str, str | None] = {
        key: value
        for key, value in after.annotations.items()
        if before.annotations.get(key) != value
    }
    annotations |= {key: None for key in before.annotations if key not in after.annotations}
    spec = {
        field: value
        for field, value, old in (
            ("replicas", after.replicas, before.replicas),
            ("minReadySeconds", after.min_ready_seconds, before.min_ready_seconds),
            ("drainSeconds", after.drain_seconds, before.drain_seconds),
            ("defaults", after.defaults.to_json(), before.defaults.to_json()),
        )
        if value != old
    }
    patch: Json = {"metadata": {"resourceVersion": before.resource_version}}
    if annotations:
        patch["metadata"]["annotations"] = annotations
    if spec:
        patch["spec"] = spec
    return patch
