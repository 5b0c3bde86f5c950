"""The history of a Rollout: numbers, annotations, the PodSet of a new revision, what is forgotten.

A revision is a PodSet that is kept at zero pods; going back to its template takes it up again,
under a new number, with the old number remembered. Pure.
"""

from dataclasses import replace
from typing import Final

from kube_runtime.resource import Key, Uid
from kube_runtime.selectors import LabelSelector
from workloads import names, naming, templates
from workloads.podset.resources import PodSet
from workloads.rollout.fleet import Fleet, number_in, size_annotations
from workloads.rollout.resources import Rollout

_NOT_YET: Final = Uid("")
_MAX_HISTORY_CHARS: Final = 2000
_NOT_COPIED: Final = frozenset(
    {
        names.LAST_APPLIED,
        names.REVISION,
        names.REVISION_HISTORY,
        names.DESIRED_REPLICAS,
        names.MAX_REPLICAS,
        names.COPIED_ANNOTATIONS,
        names.TEMPLATE_ALIAS,
        names.RETRY,
        names.RESUME_STEP,
        names.CONFIG,
    }
)


def revision_of(podset: PodSet) -> int:
    """Read the number of the revision; 0 when it has none."""
    return number_in(podset, names.REVISION) or 0


def is_new(podset: PodSet) -> bool:
    """Tell whether the PodSet is planned, but not yet made."""
    return podset.uid == _NOT_YET


def begin_revision(rollout: Rollout) -> PodSet:
    """Plan the PodSet of the Rollout's template, with no pods yet."""
    hash_ = templates.hash_of(rollout.template, rollout.status.collision_count)
    template = templates.with_hash(rollout.template, hash_)
    raw_selector = templates.selector_with_hash(rollout.raw_selector, hash_)
    return PodSet(
        key=Key(rollout.key.namespace, naming.podset_name(rollout.key.name, hash_)),
        uid=_NOT_YET,
        replicas=0,
        selector=LabelSelector.parse(raw_selector),
        raw_selector=raw_selector,
        template=template,
        min_ready_seconds=rollout.min_ready_seconds,
        drain_seconds=rollout.drain_seconds,
        defaults=rollout.defaults,
        labels=dict(template["metadata"]["labels"]),
        annotations=size_annotations(rollout) | _config(rollout),
    )


def with_revision(rollout: Rollout, fleet: Fleet) -> Fleet:
    """Number the new PodSet after all others, and copy onto it what the Rollout says of itself.

    A good revision that is back in the place of a failed one keeps its number and its annotations:
    those of the Rollout speak of the failed one.
    """
    new = fleet.new
    if new is None:
        return fleet
    if rollout.status.held is None:
        annotations = _copied(rollout, new) | _numbered(new, fleet.old) | _alias(rollout, new)
        new = replace(new, annotations=annotations)
    new = replace(
        new,
        min_ready_seconds=rollout.min_ready_seconds,
        drain_seconds=rollout.drain_seconds,
        defaults=rollout.defaults,
    )
    return Fleet(new, fleet.old)


def forgotten(rollout: Rollout, fleet: Fleet) -> tuple[PodSet, ...]:
    """Choose the old PodSets to delete: the oldest revisions beyond the limit that are empty.

    The last good revision and the one that is held stay, whatever their age.
    """
    excess = len(fleet.old) - rollout.revision_history_limit
    if excess <= 0:
        return ()
    status = rollout.status
    kept = {entry.podset for entry in (status.known_good, status.held) if entry is not None}
    empty = [podset for podset in fleet.old if _is_empty(podset) and podset.key.name not in kept]
    return tuple(sorted(empty, key=revision_of)[:excess])


def _is_empty(podset: PodSet) -> bool:
    return (
        podset.replicas == 0
        and podset.status.replicas == 0
        and podset.status.terminating_replicas == 0  # a PDB fails on pods without their owner
        and podset.is_observed
        and not podset.is_deleting
    )


def _copied(rollout: Rollout, podset: PodSet) -> dict[str, str]:
    """Bring the copies up to date, those that are gone from the Rollout included."""
    ours = {key: value for key, value in rollout.annotations.items() if key not in _NOT_COPIED}
    copied_before = set(podset.annotations.get(names.COPIED_ANNOTATIONS, "").split(","))
    annotations = {
        key: value
        for key, value in podset.annotations.items()
        if key not in copied_before and key != names.COPIED_ANNOTATIONS
    } | ours
    if ours:
        annotations[names.COPIED_ANNOTATIONS] = ",".join(sorted(ours))
    return annotations


def _alias(rollout: Rollout, podset: PodSet) -> dict[str, str]:
    """Note a template that was recognised though it is not equal: see fleet.recognise."""
    if templates.are_equal(podset.template, rollout.template):
        return {}
    return {names.TEMPLATE_ALIAS: templates.hash_of(rollout.template, 0)}


def _config(rollout: Rollout) -> dict[str, str]:
    return {names.CONFIG: rollout.config_record} if rollout.config_record else {}


def _numbered(podset: PodSet, old: tuple[PodSet, ...]) -> dict[str, str]:
    number = max((revision_of(other) for other in old), default=0) + 1
    present = revision_of(podset)
    if present >= number:
        return {}
    annotations = {names.REVISION: str(number)}
    if present > 0:
        history = podset.annotations.get(names.REVISION_HISTORY, "")
        annotations[names.REVISION_HISTORY] = _remember(history, present)
    return annotations


def _remember(history: str, number: int) -> str:
    numbers = [*filter(None, history.split(",")), str(number)]
    while len(",".join(numbers)) > _MAX_HISTORY_CHARS:
        numbers.pop(0)
    return ",".join(numbers)
