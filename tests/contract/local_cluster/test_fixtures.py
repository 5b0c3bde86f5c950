import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import NAMESPACES, PODS

pytestmark = pytest.mark.contract


async def test_the_administrator_may_read_the_cluster(api: ApiClient) -> None:
    found = await api.list(NAMESPACES)

    assert "kube-system" in {each["metadata"]["name"] for each in found.items}


async def test_a_pod_can_be_made_in_the_namespace_of_a_test(api: ApiClient, namespace: str) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "first"},
        "spec": {"containers": [{"name": "main", "image": "example.test/nothing:1"}]},
    }

    made = await api.create(PODS, pod, namespace=namespace)

    assert made["metadata"]["namespace"] == namespace
