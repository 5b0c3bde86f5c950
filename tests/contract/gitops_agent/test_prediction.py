"""The prediction of an apply against the real one: what the server makes of what people write."""

from typing import Any

import pytest

from gitops_agent.diff.compare import compare
from gitops_agent.diff.differ import Differ, Target
from gitops_agent.diff.merge import predict
from gitops_agent.diff.ownership import owned_by
from gitops_agent.diff.schemas import Schemas
from gitops_agent.names import FIELD_MANAGER
from gitops_agent.objects import Manifest, ObjectId, Redactor
from kube_runtime.api import ApiClient
from kube_runtime.resource import Json

pytestmark = pytest.mark.contract

CONTAINER: Json = {
    "name": "web",
    "image": "registry.example/web:1",
    "ports": [{"containerPort": 8080}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
    "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}],
    "resources": {"requests": {"cpu": "1000m", "memory": "3072Mi"}, "limits": {"cpu": 2}},
    "readinessProbe": {"httpGet": {"path": "/", "port": 8080}},
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
}
POD: Json = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {
        "containers": [CONTAINER],
        "volumes": [{"name": "data", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c"}}],
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "securityContext": {},
    },
}
SELECTOR: Json = {"matchLabels": {"app": "web"}}
METRIC: Json = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
}
HTTP: Json = {
    "paths": [
        {
            "path": "/",
            "pathType": "Prefix",
            "backend": {"service": {"name": "web", "port": {"number": 80}}},
        }
    ]
}
OBJECTS: dict[str, tuple[str, Json]] = {
    "Deployment": ("apps/v1", {"replicas": 2, "selector": SELECTOR, "template": POD}),
    "StatefulSet": (
        "apps/v1",
        {
            "serviceName": "web",
            "selector": SELECTOR,
            "template": POD,
            "volumeClaimTemplates": [
                {
                    "metadata": {"name": "data"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"],
                        "resources": {"requests": {"storage": "1024Mi"}},
                    },
                }
            ],
        },
    ),
    "DaemonSet": ("apps/v1", {"selector": SELECTOR, "template": POD}),
    "Rollout": ("levelset.dev/v1alpha1", {"selector": SELECTOR, "template": POD}),
    "CronJob": (
        "batch/v1",
        {
            "schedule": "0 0 * * *",
            "jobTemplate": {
                "spec": {"template": {**POD, "spec": {**POD["spec"], "restartPolicy": "Never"}}}
            },
        },
    ),
    "Service": (
        "v1",
        {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]},
    ),
    "Ingress": ("networking.k8s.io/v1", {"rules": [{"host": "example.com", "http": HTTP}]}),
    "NetworkPolicy": (
        "networking.k8s.io/v1",
        {
            "podSelector": {},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": [{"namespaceSelector": {}}], "ports": [{"port": 80}]}],
        },
    ),
    "HorizontalPodAutoscaler": (
        "autoscaling/v2",
        {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 3,
            "metrics": [METRIC],
        },
    ),
    "PodDisruptionBudget": ("policy/v1", {"minAvailable": "50%", "selector": SELECTOR}),
    "ResourceQuota": ("v1", {"hard": {"cpu": "0.5", "requests.memory": "1024Mi", "pods": 5}}),
    "LimitRange": ("v1", {"limits": [{"type": "Container", "default": {"cpu": "500m"}}]}),
    "Application": (
        "levelset.dev/v1alpha1",
        {
            "source": {"repoURL": "https://git.example.com/x"},
            "destination": {"namespace": "x"},
            "syncPolicy": {"automated": {}},
        },
    ),
}


# Atomic lists whose items the server completes by defaults that no schema names: it decides there.
ASKS_THE_SERVER = {"LimitRange", "NetworkPolicy", "StatefulSet"}


@pytest.mark.parametrize("kind", OBJECTS)
async def test_what_was_applied_is_no_difference_and_most_kinds_need_no_question(
    api: ApiClient, crds: None, namespace: str, kind: str
) -> None:
    body = _object(kind, namespace)
    resource = (await api.discover()).resource(body["apiVersion"], kind)
    live = await api.apply(resource, body, field_manager=FIELD_MANAGER)
    redactor, schemas = Redactor(), Schemas(api)
    target = Target(Manifest.of(body, source="f", redactor=redactor), resource)

    diff = await Differ(api, schemas, redactor).diff(target, live)
    predicted = predict(
        live, body, owned_by(live, FIELD_MANAGER), schema := await schemas.of(resource)
    )

    assert not diff, diff.text
    assert schema.raw, "the server publishes a schema for each of these"
    local = compare(ObjectId.of(body), live, predicted)
    assert bool(local) is (kind in ASKS_THE_SERVER), local.text


def _object(kind: str, namespace: str) -> Json:
    version, spec = OBJECTS[kind]
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"name": "web", "namespace": namespace, "annotations": {"a": "1", "b": "2"}},
        "spec": spec,
    }


@pytest.mark.parametrize("kind", ["Deployment", "Rollout", "Service", "Ingress"])
async def test_what_is_predicted_of_a_change_is_what_the_server_makes_of_it(
    api: ApiClient, crds: None, namespace: str, kind: str
) -> None:
    body = _object(kind, namespace)
    resource = (await api.discover()).resource(body["apiVersion"], kind)
    schema = await Schemas(api).of(resource)
    live = await api.apply(resource, body, field_manager=FIELD_MANAGER)
    changed = _changed(body)

    predicted = predict(live, changed, owned_by(live, FIELD_MANAGER), schema)
    truth = await api.apply(resource, changed, field_manager=FIELD_MANAGER, dry_run=True)

    diff = compare(ObjectId.of(body), truth, predicted)
    assert not diff, diff.text
    assert compare(ObjectId.of(body), live, predicted)


def _changed(body: Json) -> Json:
    """An annotation less, a label more, and another image where there is one."""
    spec: dict[str, Any] = dict(body["spec"])
    if "template" in spec:
        container = {**CONTAINER, "image": "registry.example/web:2", "env": CONTAINER["env"][:1]}
        pod = {**POD["spec"], "containers": [container]}
        spec["template"] = {**POD, "spec": pod}
    metadata = {**body["metadata"], "annotations": {"a": "1"}, "labels": {"new": "x"}}
    return {**body, "metadata": metadata, "spec": spec}
