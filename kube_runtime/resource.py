"""What a kind is called, where it is served, and how the metadata of a raw object is read.

Everybody uses these readers; no other module looks into metadata by hand for what they offer.
Objects stay raw JSON on purpose: parsing each pod into classes would cost more than the informer.
A reader trusts the API server for types and only allows for what may be absent.
"""

# ruff: noqa: A005 - only reachable as kube_runtime.resource, so nothing is shadowed

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, NewType, TypeAlias
from urllib.parse import quote

Json: TypeAlias = dict[str, Any]
Uid = NewType("Uid", str)

_NO_LABELS: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind as the API serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects: v1, apps/v1."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(
        self,
        *,
        namespace: str | None = None,
        name: str | None = None,
        subresource: str | None = None,
    ) -> str:
        """Build the path of a collection, an object or a subresource; the parts are escaped."""
        parts = ["/apis" if self.group else "/api", self.api_version]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe="") for part in (name, subresource) if part is not None]
        return "/".join(parts)

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


class Key(NamedTuple):
    """Names one object of a kind; the namespace is "" for cluster-scoped kinds.

    A tuple and not a dataclass: it is hashed at every turn of a store, and in C that is 8 times
    faster.
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def of(cls, obj: Json) -> "Key":
        """Read the key of an object."""
        metadata = obj["metadata"]
        return cls(metadata.get("namespace", ""), metadata["name"])


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """Who an object belongs to."""

    api_version: str
    kind: str
    name: str
    uid: Uid
    controller: bool = False
    block_owner_deletion: bool = False

    @classmethod
    def parse(cls, raw: Json) -> "OwnerReference":
        """Read one entry of metadata.ownerReferences."""
        return cls(
            api_version=raw["apiVersion"],
            kind=raw["kind"],
            name=raw["name"],
            uid=Uid(raw["uid"]),
            controller=raw.get("controller") is True,
            block_owner_deletion=raw.get("blockOwnerDeletion") is True,
        )


def uid_of(obj: Json) -> Uid:
    """Read metadata.uid; "" on an object that was never stored."""
    return Uid(obj["metadata"].get("uid", ""))


def labels_of(obj: Json) -> Mapping[str, str]:
    """Read metadata.labels, not to be changed."""
    labels: Mapping[str, str] | None = obj["metadata"].get("labels")
    return labels or _NO_LABELS


def annotations_of(obj: Json) -> Mapping[str, str]:
    """Read metadata.annotations, not to be changed."""
    annotations: Mapping[str, str] | None = obj["metadata"].get("annotations")
    return annotations or _NO_LABELS


def resource_version_of(obj: Json) -> str:
    """Read metadata.resourceVersion; "" on an object that was never stored."""
    version: str = obj["metadata"].get("resourceVersion", "")
    return version


def generation_of(obj: Json) -> int:
    """Read metadata.generation; 0 for the kinds that have none."""
    generation: int = obj["metadata"].get("generation", 0)
    return generation


def is_deleting(obj: Json) -> bool:
    """Tell whether the object has a deletionTimestamp."""
    return obj["metadata"].get("deletionTimestamp") is not None


def owner_references_of(obj: Json) -> Sequence[OwnerReference]:
    """Read all owner references."""
    return [OwnerReference.parse(raw) for raw in obj["metadata"].get("ownerReferences") or ()]


def controller_of(obj: Json) -> OwnerReference | None:
    """Read the one owner reference that is marked as the controller."""
    for raw in obj["metadata"].get("ownerReferences") or ():
        if raw.get("controller") is True:
            return OwnerReference.parse(raw)
    return None


def controller_uid_of(obj: Json) -> Uid | None:
    """Read the UID of the controller alone, as the indexes of a store need it."""
    for raw in obj["metadata"].get("ownerReferences") or ():
        if raw.get("controller") is True:
            return Uid(raw["uid"])
    return None


CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap")
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
NODES: Final = Resource("", "v1", "nodes", "Node", namespaced=False)
PODS: Final = Resource("", "v1", "pods", "Pod")
RESOURCE_QUOTAS: Final = Resource("", "v1", "resourcequotas", "ResourceQuota")
SECRETS: Final = Resource("", "v1", "secrets", "Secret")
SERVICES: Final = Resource("", "v1", "services", "Service")
SERVICE_ACCOUNTS: Final = Resource("", "v1", "serviceaccounts", "ServiceAccount")
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event")
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease")
POD_DISRUPTION_BUDGETS: Final = Resource(
    "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"
)
CUSTOM_RESOURCE_DEFINITIONS: Final = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
VALIDATING_WEBHOOKS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
MUTATING_WEBHOOKS: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
TOKEN_REVIEWS: Final = Resource(
    "authentication.k8s.io", "v1", "tokenreviews", "TokenReview", namespaced=False
)
SUBJECT_ACCESS_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
