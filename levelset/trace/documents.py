"""The journey as a document, for `-o json`: field names of Kubernetes' kind, times in RFC 3339. Pure."""

from datetime import datetime

from kube_runtime.conditions import format_time
from kube_runtime.resource import Json
from levelset.trace.model import Journey, Milestone, PodJourney, Progress, Stage

_STAGES = {
    Milestone.TEMPLATE_CHANGED: "TemplateChanged",
    Milestone.PODSET_CREATED: "PodSetCreated",
    Milestone.POD_CREATED: "PodCreated",
    Milestone.SCHEDULED: "Scheduled",
    Milestone.SANDBOX_READY: "SandboxReady",
    Milestone.INITIALIZED: "Initialized",
    Milestone.IMAGE_PULLED: "ImagePulled",
    Milestone.STARTED: "Started",
    Milestone.READY: "Ready",
    Milestone.IN_ENDPOINT_SLICE: "InEndpointSlice",
}
_STATES = {
    Progress.REACHED: "Reached",
    Progress.WAITED_FOR: "WaitedFor",
    Progress.AHEAD: "Ahead",
}


def document_of(journey: Journey) -> Json:
    """Write the journey as one JSON object; what is not known is left out."""
    slowest, median = journey.slowest, journey.median
    return _without_gaps(
        {
            "namespace": journey.key.namespace,
            "name": journey.key.name,
            "revision": journey.revision,
            "podSet": journey.podset,
            "changedAt": _time(journey.changed_at),
            "changedBy": journey.changed_by,
            "seenAt": _time(journey.now),
            "complete": journey.is_complete,
            "seconds": journey.seconds,
            "replicas": journey.wanted,
            "slowestPod": slowest.pod if slowest is not None else None,
            "medianPod": median.pod if median is not None else None,
            "heldUpBy": journey.hold,
            "stages": [_stage(each) for each in journey.before] or None,
            "pods": [_pod(each) for each in journey.pods],
            "notes": list(journey.notes) or None,
        }
    )


def _pod(pod: PodJourney) -> Json:
    waits, slowest = pod.waits, pod.slowest
    return _without_gaps(
        {
            "name": pod.pod,
            "node": pod.node,
            "seconds": pod.seconds,
            "ofThisChange": pod.is_of_change,
            "waitsFor": _STAGES[waits.milestone] if waits is not None else None,
            "slowestStage": _STAGES[slowest.milestone] if slowest is not None else None,
            "stages": [_stage(each) for each in pod.stages],
        }
    )


def _stage(stage: Stage) -> Json:
    return _without_gaps(
        {
            "name": _STAGES[stage.milestone],
            "state": _STATES[stage.progress],
            "at": _time(stage.at),
            "seconds": stage.seconds,
            "evidence": stage.evidence,
        }
    )


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)


def _without_gaps(raw: Json) -> Json:
    return {key: value for key, value in raw.items() if value is not None and value != ""}
