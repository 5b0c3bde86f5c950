"""Makes what a trace is read from: a Rollout, its PodSet, pods, events, EndpointSlices."""

from datetime import UTC, datetime, timedelta
from typing import Any

from kube_runtime.conditions import format_time
from kube_runtime.resource import Json
from levelset.trace.model import Journey
from levelset.trace.sources import Sources
from levelset.trace.timeline import journey_of

START = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
PULLED = 'Successfully pulled image "web:2" in 7.2s (7.5s including waiting). Image size: 38000000 bytes.'


def at(seconds: float) -> str:
    return format_time(START + timedelta(seconds=seconds))


def rollout(spec: Json | None = None, *, changed: float = 0, **status: Any) -> Json:
    return {
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "generation": 2,
            "creationTimestamp": at(-3600),
            "managedFields": [
                {
                    "manager": "kubectl",
                    "time": at(changed),
                    "fieldsV1": {"f:spec": {"f:template": {}}},
                },
                {
                    "manager": "scaler",
                    "time": at(900),
                    "fieldsV1": {"f:spec": {"f:replicas": {}}},
                },
                {
                    "manager": "levelset-workloads",
                    "time": at(901),
                    "subresource": "status",
                    "fieldsV1": {"f:spec": {"f:template": {}}},
                },
            ],
        },
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": []}},
        }
        | (spec or {}),
        "status": {
            "observedGeneration": 2,
            "replicas": 1,
            "updatedReplicas": 1,
            "availableReplicas": 1,
            "updatedPodSet": "web-b",
            "revision": 2,
            "lastProgressTime": at(14),
        }
        | status,
    }


def podset(created: float = 0, *, annotations: Json | None = None, **status: Any) -> Json:
    return {
        "metadata": {
            "name": "web-b",
            "uid": "podset",
            "creationTimestamp": at(created),
            "annotations": annotations or {},
        },
        "spec": {"replicas": 1},
        "status": status,
    }


def condition(type_: str, moment: float | None, **more: str) -> Json:
    if moment is None:
        return {"type": type_, "status": "False"} | more
    return {"type": type_, "status": "True", "lastTransitionTime": at(moment)} | more


def pod(
    name: str = "web-b-x",
    *,
    created: float = 1,
    scheduled: float | None = 1,
    sandbox: float | None = 2,
    started: float | None = 10,
    ready: float | None = 13,
    container: Json | None = None,
    **spec: Any,
) -> Json:
    state = {"running": {"startedAt": at(started)}} if started is not None else {"waiting": {}}
    statuses = [{"name": "web", "state": state} | (container or {})]
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "namespace": "shop",
            "creationTimestamp": at(created),
        },
        "spec": {"nodeName": "node-2", "containers": [{"name": "web"}]} | spec,
        "status": {
            "phase": "Running",
            "conditions": [
                condition("PodScheduled", scheduled),
                condition("PodReadyToStartContainers", sandbox),
                condition("Ready", ready),
            ],
            "containerStatuses": statuses if scheduled is not None else [],
        },
    }


def event(
    reason: str, message: str, *, uid: str = "web-b-x", moment: float = 9, **more: Any
) -> Json:
    about = {"uid": uid, "fieldPath": "spec.containers{web}"}
    return {
        "involvedObject": about,
        "reason": reason,
        "message": message,
        "firstTimestamp": at(moment),
        "lastTimestamp": at(moment),
    } | more


SERVICE = {"spec": {"selector": {"app": "web"}}}


def endpoints(*uids: str, written: float = 14) -> Json:
    return {
        "metadata": {"managedFields": [{"time": at(written)}]},
        "endpoints": [{"targetRef": {"uid": uid}, "conditions": {"ready": True}} for uid in uids],
    }


def traced(now: float = 20, **sources: Any) -> Journey:
    given: Json = {"rollout": rollout(), "podset": podset()} | sources
    return journey_of(Sources(**given), now=START + timedelta(seconds=now))


UNDER_WAY: Json = {"updatedReplicas": 1, "availableReplicas": 0}
CASES = {
    "scheduled": (
        pod(scheduled=None, sandbox=None, started=None, ready=None, nodeName=""),
        event("FailedScheduling", "0/3 nodes are available", moment=2, count=4),
        "FailedScheduling (4 times): 0/3 nodes are available",
    ),
    "sandbox ready": (
        pod(sandbox=None, started=None, ready=None),
        event("FailedMount", "secret not found"),
        "FailedMount: secret not found",
    ),
    "image pulled": (
        pod(
            started=None,
            ready=None,
            container={
                "state": {"waiting": {"reason": "ImagePullBackOff", "message": "no\nweb:2"}}
            },
        ),
        event("Failed", "Failed to pull"),
        "container web: ImagePullBackOff: no web:2",
    ),
    "containers started": (
        pod(
            started=None,
            ready=None,
            container={
                "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "no key"}}
            },
        ),
        event("Pulled", PULLED),
        "container web: CreateContainerConfigError: no key",
    ),
    "ready": (
        pod(ready=None),
        event("Unhealthy", "Readiness probe failed: 503", series={"count": 7}),
        "Unhealthy (7 times): Readiness probe failed: 503",
    ),
}
