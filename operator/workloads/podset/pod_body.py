"""The body of a pod to create: the template, a name, an owner and what is added. Pure.

The parts that all pods of a PodSet have in common are built once and shared between the bodies,
which are only ever serialized: a thousand pods cost no thousand deep copies.
"""

from collections.abc import Callable

from kube_runtime.ownership import owner_reference_to
from kube_runtime.resource import Json
from workloads import names
from workloads.pod_defaults import PodDefaults
from workloads.podset.pod_additions import (
    may_be_evicted,
    with_drain,
    with_safe_to_evict,
    with_spreading,
)


def pod_factory(podset: Json) -> Callable[[str], Json]:
    """Return a function from a name to the body of the pod."""
    template: Json = podset["spec"]["template"]
    shared = {
        field: value
        for field, value in (template.get("metadata") or {}).items()
        if field in {"labels", "annotations", "finalizers"}
    }
    shared["namespace"] = podset["metadata"]["namespace"]
    shared["ownerReferences"] = [owner_reference_to(podset, names.PODSETS)]
    defaults = PodDefaults.from_json(podset["spec"].get("defaults"))
    if defaults.safe_to_evict and may_be_evicted(template["spec"]):
        shared["annotations"] = with_safe_to_evict(shared.get("annotations"))
    spec = with_drain(template["spec"], podset["spec"].get("drainSeconds", 0))
    if defaults.topology_spread:
        selector = podset["spec"]["selector"]
        spec = with_spreading(spec, selector=selector, labels=shared.get("labels") or {})

    def body(name: str) -> Json:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**shared, "name": name},
            "spec": spec,
        }

    return body
