"""The names that the two controllers put on objects, and the kinds they own.

Every label, annotation, field manager and Resource of the part is a constant here and only here;
changing one is a breaking change of the API.
"""

from typing import Final

from kube_runtime.resource import Resource

GROUP: Final = "levelset.dev"
VERSION: Final = "v1alpha1"
FIELD_MANAGER: Final = "levelset-workloads"

PODSETS: Final = Resource(GROUP, VERSION, "podsets", "PodSet")
ROLLOUTS: Final = Resource(GROUP, VERSION, "rollouts", "Rollout")

POD_TEMPLATE_HASH: Final = "pod-template-hash"
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"

REVISION: Final = f"{GROUP}/revision"
REVISION_HISTORY: Final = f"{GROUP}/revision-history"
DESIRED_REPLICAS: Final = f"{GROUP}/desired-replicas"
MAX_REPLICAS: Final = f"{GROUP}/max-replicas"
COPIED_ANNOTATIONS: Final = f"{GROUP}/copied-annotations"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
