"""In which order objects are applied, and the reverse in which they go; pure."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

from gitops_agent.objects import GroupKind, Manifest, ObjectId

_FIRST: Final = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "StorageClass",
    "RuntimeClass",
    "ResourceQuota",
    "LimitRange",
    "NetworkPolicy",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "TrustRoot",
    "ClusterImagePolicy",
    "ImagePolicy",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Service",
    "PodDisruptionBudget",
)
_LAST: Final = (
    "HorizontalPodAutoscaler",
    "Ingress",
    "APIService",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
)
_MIDDLE: Final = len(_FIRST)
_RANKS: Final = {kind: rank for rank, kind in enumerate(_FIRST)} | {
    kind: _MIDDLE + 1 + rank for rank, kind in enumerate(_LAST)
}
_FOUNDATION: Final = frozenset(
    {GroupKind("", "Namespace"), GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")}
)


def is_foundation(object_id: ObjectId) -> bool:
    """Whether others cannot even be dry-run before this one is there."""
    return object_id.group_kind in _FOUNDATION


def in_waves(manifests: Iterable[Manifest]) -> Iterator[list[Manifest]]:
    """Yield the manifests in groups; those of one group may be applied together."""
    ordered = sorted(manifests, key=lambda manifest: (rank(manifest.id), manifest.id))
    for _, group in groupby(ordered, key=lambda manifest: rank(manifest.id)):
        yield list(group)


def rank(object_id: ObjectId) -> int:
    """Where a kind stands; workloads and unknown kinds come in the middle."""
    return _RANKS.get(object_id.group_kind.kind, _MIDDLE)
