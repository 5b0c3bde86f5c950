"""Namespaces that an Application may write to only from inside; pure.

Whoever may create an Application has the agent's rights. Pods in these namespaces are outside the
image policies, and the Secrets of the controllers lie there, so nobody gets there by the detour of
an Application in a namespace of their own.
"""

from collections.abc import Collection, Iterable
from typing import Final

from gitops_agent.errors import ProtectedNamespace
from gitops_agent.objects import GroupKind, ObjectId

PROTECTED: Final = frozenset({"kube-system", "kube-public", "kube-node-lease", "levelset-system"})
_NAMESPACE: Final = GroupKind("", "Namespace")


def check(
    objects: Iterable[ObjectId], *, home: str, protected: Collection[str] = PROTECTED
) -> None:
    """Raise ProtectedNamespace for the first object in a protected namespace that is not `home`."""
    for object_id in objects:
        is_namespace = object_id.group_kind == _NAMESPACE
        where = object_id.name if is_namespace else object_id.namespace
        if where in protected and where != home:
            raise ProtectedNamespace(
                f"{object_id}: namespace {where} is protected, and the Application lives in {home}; "
                f"only an Application in {where} itself may change what is there"
            )
