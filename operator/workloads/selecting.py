"""Which owners an orphan may concern: by selector, and only when something about it is new. Pure."""

from collections.abc import Mapping

from kube_runtime.resource import Json, controller_uid_of, labels_of
from kube_runtime.selectors import InvalidSelector, LabelSelector


def may_match_anew(old: Json | None, new: Json) -> bool:
    """Tell whether an orphan may match a selector that it did not match before."""
    if old is None or labels_of(old) != labels_of(new):
        return True
    return controller_uid_of(old) is not None


def selects(owner: Json, labels: Mapping[str, str]) -> bool:
    """Tell whether a PodSet or Rollout selects these labels; an unusable selector selects none."""
    try:
        selector = LabelSelector.parse(owner["spec"].get("selector"))
    except InvalidSelector:
        return False
    return selector.matches(labels)
