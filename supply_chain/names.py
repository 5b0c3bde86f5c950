"""The names that the supply chain part gives to things in a cluster, each spelled once."""

from kube_runtime.resource import Resource

GROUP = "levelset.dev"
VERSION = "v1alpha1"

CLUSTER_IMAGE_POLICIES = Resource(
    GROUP, VERSION, "clusterimagepolicies", "ClusterImagePolicy", namespaced=False
)
IMAGE_POLICIES = Resource(GROUP, VERSION, "imagepolicies", "ImagePolicy")
MUTATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    namespaced=False,
)
VALIDATING_WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)

FIELD_MANAGER = "levelset-supply-chain"
LEASE = "levelset-supply-chain"
SERVICE = "levelset-supply-chain"
CERTIFICATE_SECRET = "levelset-supply-chain-certificates"  # noqa: S105 - the name of an object
WEBHOOK_CONFIGURATION = "levelset-supply-chain"

NAMESPACE_MODE_LABEL = "levelset.dev/image-policy"
"""On a namespace: `enforce` denies images that no policy matches, `ignore` switches checks off."""
MODE_ENFORCE = "enforce"

MUTATE_PATH = "/mutate"
VALIDATE_PATH = "/validate"
