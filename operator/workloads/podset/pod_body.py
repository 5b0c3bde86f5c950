"""The body of a pod to create: the template, a name and an owner. Pure.

The parts that all pods of a PodSet have in common are built once and shared between the bodies,
which are only ever serialized: a thousand pods cost no thousand deep copies.
"""

from collections.abc import Callable

from kube_runtime.ownership import owner_reference_to
from kube_runtime.resource import Json
from workloads import names


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
    spec = template["spec"]

    def body(name: str) -> Json:
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**shared, "name": name},
            "spec": spec,
        }

    return body
