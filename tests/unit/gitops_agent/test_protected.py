"""Nobody reaches the namespaces of the system by the detour of an Application."""

import pytest

from gitops_agent.errors import ProtectedNamespace
from gitops_agent.objects import GroupKind, ObjectId
from gitops_agent.render import protected

POD = GroupKind("", "Pod")
NAMESPACE = GroupKind("", "Namespace")


@pytest.mark.parametrize("where", ["kube-system", "levelset-system"])
def test_an_object_in_a_protected_namespace_is_refused_with_both_names(where: str) -> None:
    evil = ObjectId(POD, where, "evil")

    with pytest.raises(ProtectedNamespace, match=rf"evil.*{where} is protected.*lives in shop"):
        protected.check([ObjectId(POD, "shop", "web"), evil], home="shop")


def test_the_protected_namespace_itself_is_refused_too() -> None:
    with pytest.raises(ProtectedNamespace, match="kube-system"):
        protected.check([ObjectId(NAMESPACE, "", "kube-system")], home="shop")


def test_an_application_of_the_protected_namespace_may() -> None:
    protected.check([ObjectId(POD, "levelset-system", "own")], home="levelset-system")


def test_other_namespaces_and_names_are_free() -> None:
    free = [ObjectId(NAMESPACE, "", "shop"), ObjectId(POD, "other", "kube-system")]

    protected.check(free, home="shop")
