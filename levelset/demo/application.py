"""The demo's Application and its policy as objects, and reading the Application's status."""

from typing import Any

from gitops_agent.names import APPLICATIONS, REPOSITORY_SECRET_TYPE, SECRET_TYPE_LABEL
from kube_runtime.api import ApiClient
from kube_runtime.resource import Json
from levelset.demo.image import Images
from levelset.demo.repository import OVERLAY
from levelset.demo.stage import NAMESPACE
from local_cluster.services.git_server import GitServer

NAME = "web"
POLICY = "demo-images"


def application(repository_url: str) -> Json:
    """Return the Application: the staging overlay, automated, with prune and self-heal."""
    return {
        "apiVersion": APPLICATIONS.api_version,
        "kind": "Application",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "spec": {
            "source": {"repoURL": repository_url, "targetRevision": "main", "path": OVERLAY},
            "destination": {"namespace": NAMESPACE},
            "syncPolicy": {"automated": {"prune": True, "selfHeal": True}},
        },
    }


def repository_secret(git: GitServer, repository_url: str) -> Json:
    """Return the Secret with which the agent reads the repository."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "demo-repository",
            "namespace": NAMESPACE,
            "labels": {SECRET_TYPE_LABEL: REPOSITORY_SECRET_TYPE},
        },
        "stringData": {"url": repository_url, "username": git.user, "password": git.token},
    }


def policy(images: Images) -> Json:
    """Return the policy: every image of the demo's registry needs a signature by the demo's key."""
    authority = {
        "name": "demo-key",
        "key": {"data": images.public_key},
        "transparencyLog": "Ignored",  # nothing of the demo leaves this machine
    }
    return {
        "apiVersion": "levelset.dev/v1alpha1",
        "kind": "ClusterImagePolicy",
        "metadata": {"name": POLICY},
        "spec": {"images": [{"glob": f"{images.name}**"}], "authorities": [authority]},
    }


def staging_namespace() -> Json:
    """Return the namespace, under the strictest Pod Security level."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": labels},
    }


async def read_status(api: ApiClient) -> dict[str, Any]:
    """Return the Application's status."""
    found = await api.get(APPLICATIONS, NAME, namespace=NAMESPACE)
    status: dict[str, Any] = found.get("status", {})
    return status


def missing_for_sync(status: dict[str, Any], commit: str) -> str:
    """Say what is missing until this commit is Synced and Healthy; "" when nothing is."""
    sync, health = status.get("sync", {}), status.get("health", {})
    if sync.get("revision") != commit:
        found = f"revision {str(sync.get('revision'))[:12]} instead of {commit[:12]}"
    elif sync.get("status") != "Synced":
        found = f"sync is {sync.get('status')}"
    elif health.get("status") != "Healthy":
        found = f"health is {health.get('status')}: {health.get('message', '')}"
    else:
        return ""
    return f"{found}; {explain(status)}"


def explain(status: dict[str, Any]) -> str:
    """Say in one line what the Application itself says."""
    operation = status.get("operationState", {})
    conditions = [
        f"{c['type']}={c['status']} {c['reason']}: {c['message']}"
        for c in status.get("conditions", [])
    ]
    phase = f"operation {operation.get('phase')}: {operation.get('message', '')}"
    return "; ".join([phase, *conditions])
