"""From what the cluster stores to the journey of the last change. Pure: sources and the time in."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from kube_runtime.conditions import parse_time
from kube_runtime.resource import Json, Key, annotations_of, is_deleting, labels_of, uid_of
from kube_runtime.selectors import LabelSelector
from levelset.rollout.snapshot import snapshot_of
from levelset.rollout.verdict import Phase, judge
from levelset.trace import holds
from levelset.trace.events import events_of
from levelset.trace.model import Journey, Mark, Milestone, PodJourney, Stage, stages_of
from levelset.trace.pod_marks import marks_of
from levelset.trace.sources import Sources
from workloads import names

# Everybody writes whole seconds, rounded down, by a clock of their own.
_SLACK: Final = timedelta(seconds=2)
_ENDED: Final = ("Succeeded", "Failed")


class Origin(NamedTuple):
    """When the template was changed, and by whom, as far as that is recorded."""

    at: datetime | None
    by: str
    is_exact: bool = True
    """False when the time is that of the PodSet, for want of a better one."""


def journey_of(sources: Sources, *, now: datetime) -> Journey:
    """Trace the last change."""
    seen = snapshot_of(sources.rollout)
    origin = origin_of(sources.rollout, sources.podset)
    is_complete = judge(seen).phase is Phase.DONE
    ended_at = _ended_at(sources.rollout) if is_complete else None
    start = list(_start(sources, origin))
    pods = tuple(
        _pod_journey(pod, sources, start, origin, ended_at=ended_at, now=now)
        for pod in sources.pods
        if not is_deleting(pod) and (pod.get("status") or {}).get("phase") not in _ENDED
    )
    return Journey(
        key=Key.of(sources.rollout),
        revision=seen.revision,
        podset=sources.podset["metadata"]["name"] if sources.podset is not None else "",
        changed_at=origin.at,
        changed_by=origin.by,
        now=now,
        wanted=seen.replicas,
        is_complete=is_complete,
        pods=pods,
        before=() if pods else _without_pods(sources, start, now=now),
        hold="" if is_complete else holds.hold_of(sources, pods_there=len(pods)),
        notes=tuple(_notes(sources, origin)),
    )


def origin_of(rollout: Json, podset: Json | None) -> Origin:
    """Find who last wrote the template; a later write of other fields by the same hides when."""
    writes = sorted(_template_writes(rollout))
    if not writes:
        return Origin(_created(podset), "", is_exact=False)
    made = _created(podset)
    if made is None or is_reused(podset):
        return Origin(*writes[-1])
    before = [write for write in writes if write[0] <= made + _SLACK]
    return Origin(*before[-1]) if before else Origin(made, writes[-1][1], is_exact=False)


def is_reused(podset: Json | None) -> bool:
    """Tell whether the PodSet had a revision number before: its template was gone back to."""
    return podset is not None and names.REVISION_HISTORY in annotations_of(podset)


def is_served(sources: Sources) -> bool:
    """Tell whether a Service leads to the pods of the template."""
    labels = labels_of(sources.rollout["spec"]["template"])
    selectors = ((each.get("spec") or {}).get("selector") for each in sources.services)
    return any(
        selector and LabelSelector.of_labels(selector).matches(labels) for selector in selectors
    )


def _template_writes(rollout: Json) -> Iterator[tuple[datetime, str]]:
    for entry in rollout["metadata"].get("managedFields") or ():
        spec = (entry.get("fieldsV1") or {}).get("f:spec") or {}
        written = parse_time(entry.get("time"))
        if "f:template" in spec and not entry.get("subresource") and written is not None:
            yield written, str(entry.get("manager", ""))


def _start(sources: Sources, origin: Origin) -> Iterator[Mark]:
    yield Mark(Milestone.TEMPLATE_CHANGED, is_reached=True, at=origin.at)
    if sources.podset is None:
        evidence = holds.no_podset(sources)
        yield Mark(Milestone.PODSET_CREATED, is_reached=False, evidence=evidence)
    elif is_reused(sources.podset):
        evidence = "it was there from an earlier revision"
        yield Mark(Milestone.PODSET_CREATED, is_reached=True, at=origin.at, evidence=evidence)
    else:
        yield Mark(Milestone.PODSET_CREATED, is_reached=True, at=_created(sources.podset))


def _pod_journey(
    pod: Json,
    sources: Sources,
    start: Sequence[Mark],
    origin: Origin,
    *,
    ended_at: datetime | None,
    now: datetime,
) -> PodJourney:
    marks = marks_of(
        pod,
        events_of(sources.events, uid_of(pod)),
        came_late=_came_late(pod, sources.pods),
        slices=sources.slices,
        is_served=is_served(sources),
        seen_serving_at=sources.seen_serving.get(uid_of(pod)),
    )
    is_of_change = _is_of_change(pod, origin, ended_at)
    stages = stages_of([*(start if is_of_change else ()), *marks], now=now)
    return PodJourney(
        pod=pod["metadata"]["name"],
        node=pod["spec"].get("nodeName", ""),
        stages=stages,
        seconds=_seconds(stages, now=now),
        is_of_change=is_of_change,
    )


def _came_late(pod: Json, pods: Sequence[Json]) -> str:
    """Say that other pods had to come first, where that shows."""
    created = _created(pod)
    earlier = [
        other
        for other in pods
        if created and (moment := _created(other)) and moment + _SLACK <= created
    ]
    if not earlier:
        return ""
    return f"{len(earlier)} came before it; the strategy lets the next come as those are available"


def _is_of_change(pod: Json, origin: Origin, ended_at: datetime | None) -> bool:
    created = _created(pod)
    if created is None or origin.at is None:
        return True
    is_older = created < origin.at - _SLACK
    return not is_older and (ended_at is None or created <= ended_at + _SLACK)


def _seconds(stages: Sequence[Stage], *, now: datetime) -> float:
    times = [stage.at for stage in stages if stage.at is not None]
    if not times:
        return 0.0
    is_there = all(stage.at is not None or stage.progress.value == "reached" for stage in stages)
    return max(0.0, ((max(times) if is_there else now) - times[0]).total_seconds())


def _without_pods(sources: Sources, start: Sequence[Mark], *, now: datetime) -> tuple[Stage, ...]:
    evidence = holds.hold_of(sources, pods_there=0)
    pod = Mark(Milestone.POD_CREATED, is_reached=False, evidence=evidence)
    return stages_of([*start, pod], now=now)


def _ended_at(rollout: Json) -> datetime | None:
    return parse_time((rollout.get("status") or {}).get("lastProgressTime"))


def _created(obj: Json | None) -> datetime | None:
    return parse_time(obj["metadata"].get("creationTimestamp")) if obj is not None else None


def _notes(sources: Sources, origin: Origin) -> Iterator[str]:
    if not origin.is_exact and origin.at is not None:
        yield "when the template was changed is not recorded any more; counted from its PodSet"
    if not is_served(sources):
        yield "no Service selects these pods, so they are in no EndpointSlice"
