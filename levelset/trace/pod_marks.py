"""What the cluster tells of one pod's milestones: conditions, container states, events. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from kube_runtime.conditions import Condition, find_condition, parse_conditions, parse_time
from kube_runtime.resource import Json, Uid, uid_of
from levelset.rollout.spans import span
from levelset.trace import reasons
from levelset.trace.events import Event, pull_seconds, pulled_megabytes
from levelset.trace.model import Mark, Milestone


def marks_of(
    pod: Json,
    events: Sequence[Event],
    *,
    came_late: str,
    slices: Sequence[Json],
    is_served: bool,
    seen_serving_at: datetime | None,
) -> Iterator[Mark]:
    """Yield the marks from the pod's creation on."""
    conditions = parse_conditions((pod.get("status") or {}).get("conditions"))
    containers: list[Json] = (pod.get("status") or {}).get("containerStatuses") or []
    created = parse_time(pod["metadata"].get("creationTimestamp"))
    started = _started(pod, containers, events)
    yield Mark(Milestone.POD_CREATED, is_reached=True, at=created, evidence=came_late)
    yield _by_condition(
        Milestone.SCHEDULED, conditions, "PodScheduled", reasons.unscheduled(events)
    )
    sandbox = _by_condition(
        Milestone.SANDBOX_READY, conditions, "PodReadyToStartContainers", reasons.no_sandbox(events)
    )
    yield sandbox if not started.is_reached or sandbox.is_reached else _unknown(sandbox.milestone)
    if pod["spec"].get("initContainers"):
        why = reasons.uninitialized(pod, events)
        yield _by_condition(Milestone.INITIALIZED, conditions, "Initialized", why)
    yield _pulled(containers, events, is_started=started.is_reached)
    yield started
    ready = _by_condition(Milestone.READY, conditions, "Ready", reasons.unready(pod, events))
    yield ready
    if is_served:
        yield _serving(pod, slices, ready.at, seen_serving_at)


def serving_uids(slices: Iterable[Json]) -> set[Uid]:
    """Return the UIDs of the pods that EndpointSlices list as ready."""
    return {
        Uid(target["uid"])
        for each in slices
        for endpoint in each.get("endpoints") or ()
        if (endpoint.get("conditions") or {}).get("ready") is not False
        and "uid" in (target := endpoint.get("targetRef") or {})
    }


def _by_condition(
    milestone: Milestone, conditions: Sequence[Condition], type_: str, evidence: str
) -> Mark:
    found = find_condition(conditions, type_)
    if found is None or found.status != "True":
        said = found.message if found is not None else ""
        return Mark(milestone, is_reached=False, evidence=evidence or said)
    return Mark(milestone, is_reached=True, at=found.last_transition_time, evidence=evidence)


def _unknown(milestone: Milestone) -> Mark:
    return Mark(milestone, is_reached=True)


def _pulled(containers: Sequence[Json], events: Sequence[Event], *, is_started: bool) -> Mark:
    """Take the last container's first pull: the pod can only go on after that."""
    firsts: dict[str, Event] = {}
    for event in events:
        if event.reason == "Pulled" and event.container:
            firsts.setdefault(event.container, event)
    if firsts and (is_started or len(firsts) >= max(1, len(containers))):
        slowest = max(firsts.values(), key=lambda event: pull_seconds(event.message) or 0.0)
        at = max((event.first for event in firsts.values() if event.first), default=None)
        seconds = pull_seconds(slowest.message)
        return Mark(
            Milestone.IMAGE_PULLED,
            is_reached=True,
            at=at,
            seconds=0.0 if seconds is None else seconds,
            evidence=_pull_text(slowest, seconds),
        )
    if is_started:
        return _unknown(Milestone.IMAGE_PULLED)  # its event has expired
    return Mark(
        Milestone.IMAGE_PULLED, is_reached=False, evidence=reasons.unpulled(containers, events)
    )


def _pull_text(event: Event, seconds: float | None) -> str:
    if seconds is None:
        return "the image was on the node already"
    size = pulled_megabytes(event.message)
    return f"pulled {f'{size:.0f} MB ' if size else ''}in {span(seconds)}"


def _started(pod: Json, containers: Sequence[Json], events: Sequence[Event]) -> Mark:
    """Take the last container's first start."""
    starts = [_first_start(entry, events) for entry in containers]
    wanted = len(pod["spec"]["containers"])
    evidence = reasons.unstarted(containers, events)
    if len(starts) < wanted or None in starts:
        return Mark(Milestone.STARTED, is_reached=False, evidence=evidence)
    at = max((start for start in starts if start), default=None)
    return Mark(Milestone.STARTED, is_reached=True, at=at, evidence=reasons.restarts(containers))


def _first_start(entry: Json, events: Sequence[Event]) -> datetime | None:
    """Tell when the container was started for the first time, as far as that is known."""
    state: Json = entry.get("state") or {}
    last: Json = entry.get("lastState") or {}
    for event in events:
        if event.reason == "Started" and event.container == entry["name"] and event.first:
            return event.first
    for run in (last.get("terminated"), state.get("running"), state.get("terminated")):
        if run and (moment := parse_time(run.get("startedAt"))):
            return moment
    return None


def _serving(
    pod: Json, slices: Sequence[Json], ready_at: datetime | None, seen_at: datetime | None
) -> Mark:
    milestone = Milestone.IN_ENDPOINT_SLICE
    ours = [each for each in slices if uid_of(pod) in serving_uids([each])]
    if not ours:
        why = "" if ready_at is None else "it is ready, but no EndpointSlice lists it as ready"
        return Mark(milestone, is_reached=False, evidence=why)
    written = [moment for each in ours if (moment := _written_at(each))]
    # A slice tells only when it was written last: that is when this pod came into it if the pod
    # became ready in the seconds before, and else says nothing.
    near = [moment for moment in written if ready_at and (moment - ready_at).total_seconds() <= 5]
    at = seen_at or min(near, default=None)
    return Mark(milestone, is_reached=True, at=at and ready_at and max(at, ready_at))


def _written_at(endpoint_slice: Json) -> datetime | None:
    times = (
        parse_time(entry.get("time"))
        for entry in endpoint_slice["metadata"].get("managedFields") or ()
    )
    return max((moment for moment in times if moment), default=None)
