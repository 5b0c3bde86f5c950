"""Whose an object is: our mark on it, and what the mark means; pure.

The mark holds the Application's UID and the object's own identity: an operator that copies annotations
onto other objects does not make them ours. The label beside it only filters watches and proves nothing.
"""

from collections.abc import Collection
from enum import Enum

from gitops_agent.names import APPLICATION_ANNOTATION, APPLICATION_LABEL, OWNER_ANNOTATION
from gitops_agent.objects import ObjectId
from kube_runtime.resource import Json, Key, annotations_of


class Owner(Enum):
    """Who holds an object."""

    NOBODY = "nobody"
    US = "us"
    ANOTHER = "another"


def mark(body: Json, application: Key, uid: str) -> Json:
    """Return the body with our mark on it."""
    metadata = body["metadata"]
    labels = {**(metadata.get("labels") or {}), APPLICATION_LABEL: uid}
    annotations = {
        **(metadata.get("annotations") or {}),
        OWNER_ANNOTATION: _value(uid, ObjectId.of(body)),
        APPLICATION_ANNOTATION: str(application),
    }
    return {**body, "metadata": {**metadata, "labels": labels, "annotations": annotations}}


def owner_of(live: Json, uid: str, living: Collection[str]) -> Owner:
    """Tell whose a live object is; a mark of an Application that is gone counts for nothing."""
    found = annotations_of(live).get(OWNER_ANNOTATION, "")
    holder = found.partition(":")[0]
    if not holder or found != _value(holder, ObjectId.of(live)):
        return Owner.NOBODY  # no mark, or one that was copied from another object
    if holder == uid:
        return Owner.US
    return Owner.ANOTHER if holder in living else Owner.NOBODY


def holder_name(live: Json) -> str:
    """Name the Application that holds an object, for a message."""
    return annotations_of(live).get(APPLICATION_ANNOTATION, "another Application")


def _value(uid: str, object_id: ObjectId) -> str:
    kind = object_id.group_kind
    return f"{uid}:{kind.group}/{kind.kind}:{object_id.namespace}/{object_id.name}"
