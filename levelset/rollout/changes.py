"""What each verb writes: from the Rollout as it is to one patch, or the reason why not. Pure.

Every patch names the resourceVersion that it was planned on; who sends it plans again when somebody
wrote in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kube_runtime.conditions import format_time
from kube_runtime.resource import Json, annotations_of, resource_version_of, uid_of
from levelset.rollout import configs, history
from levelset.rollout.configs import Live
from levelset.rollout.errors import NoSuchRevision, Refused
from levelset.rollout.history import CHANGE_CAUSE, Revision
from levelset.rollout.snapshot import Snapshot, snapshot_of
from levelset.rollout.targets import RESOURCE, SHOWN
from levelset.rollout.verdict import held_text
from workloads import names, templates
from workloads.rollout.config.references import Source

RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
_PAUSED: Final = "Paused"


@dataclass(frozen=True, slots=True)
class Change:
    """A JSON patch, empty when there is nothing to do, and what to say once it is written."""

    said: str
    patch: list[Json] = field(default_factory=list, hash=False)
    note: str = ""
    """What the user should know beyond it; goes to standard error."""


def pause(rollout: Json) -> Change:
    """Hold the rollout where it is."""
    if rollout["spec"].get("paused", False):
        raise _refused(rollout, "is already paused")
    return Change("paused", _patch(rollout, _set("/spec/paused", value=True)))


def resume(rollout: Json) -> Change:
    """Go on: after a pause of the whole rollout, else after the step that waits to be resumed."""
    seen = snapshot_of(rollout)
    step = seen.step if seen.step is not None and seen.step.state == _PAUSED else None
    if seen.is_paused:
        note = "a pause step waits, too: resume once more to go on from it" if step else ""
        return Change("resumed", _patch(rollout, _set("/spec/paused", value=False)), note)
    if step is not None:
        resumed = f"{step.podset}/{step.index}"
        if annotations_of(rollout).get(names.RESUME_STEP) == resumed:
            resumed = f"{resumed}/again"  # what was said of an earlier try of it does not count
        annotations = {**annotations_of(rollout), names.RESUME_STEP: resumed}
        return Change("resumed", _patch(rollout, _annotations(annotations)))
    raise _refused(rollout, "is not paused")


def restart(rollout: Json, *, now: datetime) -> Change:
    """Make new pods of the same template."""
    if rollout["spec"].get("paused", False):
        raise _refused(rollout, "can't restart paused rollout (run rollout resume first)")
    metadata = rollout["spec"]["template"].get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    moment = format_time(now)
    if annotations.get(RESTARTED_AT) == moment:
        raise Refused(
            f"failed to create patch for {rollout['metadata']['name']}: if restart has already been "
            "triggered within the past second, please wait before attempting to trigger another"
        )
    path = "/spec/template/metadata/annotations"
    return Change(
        "restarted", _patch(rollout, _set(path, value={**annotations, RESTARTED_AT: moment}))
    )


def retry(rollout: Json, *, now: datetime) -> Change:
    """Release the held revision, so that it is rolled out once more."""
    held = snapshot_of(rollout).held
    if held is None:
        raise _refused(rollout, "has no held revision")
    annotations = {**annotations_of(rollout), names.RETRY: format_time(now)}
    return Change(
        "retried", _patch(rollout, _annotations(annotations)), f"releases revision {held.revision}"
    )


def undo(rollout: Json, podsets: Sequence[Json], wanted: Revision, *, live: Live) -> Change:
    """Write the template of an earlier revision back."""
    seen = snapshot_of(rollout)
    if seen.is_paused:
        raise Refused(
            "you cannot rollback a paused rollout; resume it first with "
            f"'kubectl levelset rollout resume rollout/{seen.name}' and try again"
        )
    back = configs.restored(
        wanted.podset, present_podset(seen, podsets), rollout_uid=uid_of(rollout), live=live
    )
    if templates.are_equal(back.template, rollout["spec"]["template"]):
        said = f"skipped rollback (current template already matches revision {wanted.number})"
        return Change(said, note=_held_note(seen, wanted))
    annotations = dict(annotations_of(rollout))
    annotations.pop(CHANGE_CAUSE, None)
    if wanted.change_cause:
        annotations[CHANGE_CAUSE] = wanted.change_cause
    operations = _set("/spec/template", value=back.template)
    if annotations != annotations_of(rollout):
        operations += _annotations(annotations)
    note = _held_note(seen, wanted) or _pinned_note(back.pinned, wanted)
    return Change("rolled back", _patch(rollout, operations), note)


def present_podset(seen: Snapshot, podsets: Sequence[Json]) -> Json | None:
    """Find the PodSet of the template that the spec asks for."""
    name = seen.held.podset if seen.held is not None else seen.podset
    return next((each for each in podsets if each["metadata"]["name"] == name), None)


def revision_to_undo_to(
    seen: Snapshot, podsets: Sequence[Json], *, to_revision: int = 0
) -> Revision:
    """Choose the revision; 0 is the one before, or the known good one; raises NoSuchRevision."""
    there = history.revisions(podsets)
    if to_revision:
        return history.find(there, to_revision)
    if seen.held is not None and seen.known_good:
        return history.find(there, seen.known_good)  # the pods are of it already
    if len(there) < 2:
        raise NoSuchRevision(f'no rollout history found for rollout "{seen.name}"')
    return there[-2]


def shown_name(rollout: Json) -> str:
    """Name the Rollout as kubectl's verbs do."""
    return f"{SHOWN}/{rollout['metadata']['name']}"


def _pinned_note(pinned: Sequence[Source], wanted: Revision) -> str:
    if not pinned:
        return ""
    shown = ", ".join(map(str, pinned))
    return (
        f"the template now names copies of {shown} as of revision {wanted.number}; "
        "a later change of these rolls only once the template names them again"
    )


def _held_note(seen: Snapshot, wanted: Revision) -> str:
    held = seen.held
    if held is None or held.revision != wanted.number:
        return ""
    return (
        f"revision {held.revision} is held since it failed ({held_text(held)}); "
        f"release it with: kubectl levelset rollout retry rollout/{seen.name}"
    )


def _refused(rollout: Json, why: str) -> Refused:
    return Refused(f'{RESOURCE} "{rollout["metadata"]["name"]}" {why}')


def _patch(rollout: Json, operations: list[Json]) -> list[Json]:
    version = resource_version_of(rollout)
    return [{"op": "replace", "path": "/metadata/resourceVersion", "value": version}, *operations]


def _set(path: str, *, value: object) -> list[Json]:
    # "add" replaces a member that is there, and makes one that is not.
    return [{"op": "add", "path": path, "value": value}]


def _annotations(annotations: Json) -> list[Json]:
    return _set("/metadata/annotations", value=annotations)
