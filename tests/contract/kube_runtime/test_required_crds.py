import asyncio
import secrets
from contextlib import suppress

import pytest

from kube_runtime import required_crds
from kube_runtime.api import ApiClient
from kube_runtime.required_crds import MissingCrd, WrongCrdVersion
from kube_runtime.resource import CUSTOM_RESOURCE_DEFINITIONS, Json, Resource

pytestmark = pytest.mark.contract


def crd(group: str, version: str) -> Json:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing"},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


@pytest.fixture
def group() -> str:
    return f"g{secrets.token_hex(4)}.example"


@pytest.mark.usefixtures("crds")
async def test_kinds_that_are_served_pass(api: ApiClient) -> None:
    required = Resource("levelset.dev", "v1alpha1", "podsets", "PodSet")

    await required_crds.check(api, [required])


async def test_a_missing_crd_is_named_with_what_to_do(api: ApiClient, group: str) -> None:
    with pytest.raises(MissingCrd) as caught:
        await required_crds.check(api, [Resource(group, "v1", "things", "Thing")])

    message = caught.value.diagnostics()
    assert f"CustomResourceDefinition things.{group}: expected version v1" in message
    assert "found none; install the CRDs of this release: kubectl apply" in message
    assert "\n" not in message


async def test_a_crd_of_another_version_is_named_with_the_versions_found(
    api: ApiClient, group: str
) -> None:
    body = crd(group, "v2")
    await api.create(CUSTOM_RESOURCE_DEFINITIONS, body)
    try:
        with pytest.raises(WrongCrdVersion) as caught:
            await _once_served(api, Resource(group, "v1", "things", "Thing"))
    finally:
        await api.delete(CUSTOM_RESOURCE_DEFINITIONS, body["metadata"]["name"])

    assert "expected version v1" in caught.value.diagnostics()
    assert "found v2" in caught.value.diagnostics()


async def _once_served(api: ApiClient, required: Resource) -> None:
    """A CRD is served a moment after it was created."""
    async with asyncio.timeout(10):
        while True:
            with suppress(MissingCrd):
                return await required_crds.check(api, [required])
            await asyncio.sleep(0.1)
