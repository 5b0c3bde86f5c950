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
JOBS: Final = Resource("batch", "v1", "jobs", "Job")

POD_TEMPLATE_HASH: Final = "pod-template-hash"
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"

REVISION: Final = f"{GROUP}/revision"
REVISION_HISTORY: Final = f"{GROUP}/revision-history"
DESIRED_REPLICAS: Final = f"{GROUP}/desired-replicas"
MAX_REPLICAS: Final = f"{GROUP}/max-replicas"
TEMPLATE_ALIAS: Final = f"{GROUP}/template-alias"
RETRY: Final = f"{GROUP}/retry"
RESUME_STEP: Final = f"{GROUP}/resume-step"
COPIED_ANNOTATIONS: Final = f"{GROUP}/copied-annotations"
CONFIG: Final = f"{GROUP}/config"
"""On a PodSet: under which names it reads its ConfigMaps and Secrets."""
CONFIG_OF: Final = f"{GROUP}/config-of"
"""On a copy of one, a label: the UID of the Rollout that it was made for."""
COPIED_FROM: Final = f"{GROUP}/copied-from"
COPIED_FOR: Final = f"{GROUP}/copied-for"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
