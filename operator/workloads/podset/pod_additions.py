"""What is added to each pod when it is made, and never stored in the template.

So that a change of these starts no rollout: `drainSeconds` (a preStop hook that sleeps) and
`defaults` (the cluster autoscaler's annotation, the scheduler's default spreading).
What the template says itself is never overruled. Nothing given is changed in place. Pure.
"""

from collections.abc import Mapping
from typing import Final

from kube_runtime.resource import Json
from workloads import names

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
_DEFAULT_GRACE_SECONDS: Final = 30
# The scheduler's own defaults, which it gives to pods of the kinds that it knows.
_SPREADING: Final = (("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5))


def may_be_evicted(spec: Json) -> bool:
    """Tell whether a pod leaves nothing behind on its node.

    Said to be safe, one with local storage would be evicted, where a built-in kind's is not.
    """
    return not any(
        "emptyDir" in volume or "hostPath" in volume for volume in spec.get("volumes") or ()
    )


def with_safe_to_evict(annotations: Mapping[str, str] | None) -> dict[str, str]:
    """Allow the cluster autoscaler to evict, unless something is said about it."""
    return {SAFE_TO_EVICT: "true", **(annotations or {})}


def with_drain(spec: Json, drain_seconds: int) -> Json:
    """Let the containers without a preStop hook sleep before they are told to stop.

    The grace that was asked for begins after the sleep. Sidecars get no hook: they are told to
    stop when the other containers have ended.
    """
    containers = [_with_sleep(container, drain_seconds) for container in spec["containers"]]
    if drain_seconds == 0 or containers == spec["containers"]:
        return spec
    grace = spec.get("terminationGracePeriodSeconds")
    asked = _DEFAULT_GRACE_SECONDS if grace is None else grace
    return {
        **spec,
        "containers": containers,
        "terminationGracePeriodSeconds": asked + drain_seconds,
    }


def with_spreading(spec: Json, *, selector: Json, labels: Mapping[str, str]) -> Json:
    """Spread the pods softly over nodes and zones, unless the template spreads them itself."""
    if spec.get("topologySpreadConstraints"):
        return spec
    constraints = [
        _constraint(topology_key, max_skew, selector, labels)
        for topology_key, max_skew in _SPREADING
    ]
    return {**spec, "topologySpreadConstraints": constraints}


def _with_sleep(container: Json, seconds: int) -> Json:
    lifecycle: Json = container.get("lifecycle") or {}
    if seconds == 0 or lifecycle.get("preStop"):
        return container
    return {**container, "lifecycle": {**lifecycle, "preStop": {"sleep": {"seconds": seconds}}}}


def _constraint(
    topology_key: str, max_skew: int, selector: Json, labels: Mapping[str, str]
) -> Json:
    """Build one constraint; a key may be matched by value or in the selector, not by both."""
    constraint: Json = {
        "maxSkew": max_skew,
        "topologyKey": topology_key,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": selector,
    }
    if names.POD_TEMPLATE_HASH in labels:
        match_labels = {
            key: value
            for key, value in (selector.get("matchLabels") or {}).items()
            if key != names.POD_TEMPLATE_HASH
        }
        constraint["labelSelector"] = {**selector, "matchLabels": match_labels}
        constraint["matchLabelKeys"] = [names.POD_TEMPLATE_HASH]
    return constraint
