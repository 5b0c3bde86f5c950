"""Why there are not more pods of the new template, and why there is no PodSet. Pure.

The first reason that applies is told: what a person did comes before what the cluster lacks.
"""

from collections.abc import Iterator

from kube_runtime.conditions import parse_conditions, parse_time
from kube_runtime.resource import Json, uid_of
from levelset.rollout import facts
from levelset.rollout.snapshot import Snapshot, snapshot_of
from levelset.rollout.verdict import held_text
from levelset.trace.events import events_of, last_of
from levelset.trace.sources import Sources


def hold_of(sources: Sources, *, pods_there: int) -> str:
    """Say why the rollout does not have all of its pods, or does not go on."""
    return next(_reasons(sources, snapshot_of(sources.rollout), pods_there), "")


def no_podset(sources: Sources) -> str:
    """Say why the template has no PodSet yet."""
    seen = snapshot_of(sources.rollout)
    if not seen.is_observed:
        return "the controller has not looked at the change yet; is it running?"
    failed = seen.condition("Progressing")
    if failed is not None and failed.status == "False":
        return f"{failed.reason}: {failed.message}"
    return hold_of(sources, pods_there=0)


def _reasons(sources: Sources, seen: Snapshot, pods_there: int) -> Iterator[str]:
    if seen.held is not None:
        yield f"revision {seen.held.revision} is held: {held_text(seen.held)}"
    if seen.is_paused:
        yield "the rollout is paused"
    yield from _step(seen)
    if seen.blocked is not None:
        yield facts.blocked_text(seen.blocked)
    yield from _podset(sources)
    if 0 < pods_there < seen.replicas:
        yield "waits for new pods to be available before more old ones go (strategy.rollingUpdate)"
    elif pods_there == 0 and sources.podset is not None and _wants(sources.podset) == 0:
        yield "waits for old pods to go (strategy)"
    elif seen.total > seen.updated:
        yield f"old pods that are still to go: {seen.total - seen.updated}"


def _step(seen: Snapshot) -> Iterator[str]:
    for line in facts.details(seen):
        if line.startswith("step "):
            yield line


def _podset(sources: Sources) -> Iterator[str]:
    if sources.podset is None:
        return
    status: Json = sources.podset.get("status") or {}
    until = parse_time(status.get("backoffUntil"))
    failed = status.get("failedReplicas", 0)
    if until is not None and failed:
        yield f"{failed} pods failed before they were ready; the next comes at {until:%H:%M:%S}"
    for condition in parse_conditions(status.get("conditions")):
        if condition.type == "ReplicaFailure" and condition.status == "True":
            yield f"{condition.reason}: {condition.message}"
    refused = last_of(events_of(sources.events, uid_of(sources.podset)), "FailedCreate")
    if refused is not None and not status.get("replicas"):
        yield refused.text


def _wants(podset: Json) -> int:
    wanted: int = podset["spec"].get("replicas", 1)
    return wanted
