"""The leader's chore against the real API server: Secret, caBundle, and the way to us."""

import base64

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.resource import SECRETS, Json
from supply_chain import names
from supply_chain.certificates.plan import Lifetimes
from supply_chain.certificates.rotation import Rotation, Target
from supply_chain.certificates.serving import ServingCertificate
from tests.contract.supply_chain.harness import DEPLOY

pytestmark = pytest.mark.contract


def target(url: str = "") -> Target:
    return Target("default", "guard", ("guard.default.svc", "127.0.0.1"), url)


async def client_configs(api: ApiClient) -> list[Json]:
    found = await api.get(names.VALIDATING_WEBHOOKS, names.WEBHOOK_CONFIGURATION)
    return [webhook["clientConfig"] for webhook in found["webhooks"]]


async def test_the_chore_makes_certificates_and_tells_the_api_server_the_way(
    api: ApiClient, kubectl: object
) -> None:
    assert callable(kubectl)
    chore = Rotation(api, target("https://127.0.0.1:9/"), Lifetimes())
    serving = ServingCertificate(api, "default")
    await chore.tick()  # the webhooks are not installed yet: only the Secret is made
    # Only what this test labels may meet our webhooks: the control plane is everybody's.
    text = (DEPLOY / "webhooks" / "supply-chain.yaml").read_text()
    text = text.replace("operator: NotIn, values: [ignore]", "operator: In, values: [nobody]")
    assert text.count("nobody") == 2
    kubectl("apply", "-f", "-", stdin=text)
    try:
        await chore.tick()
        await serving.tick()

        assert serving.is_fresh()
        outside = await client_configs(api)
        assert {config["url"] for config in outside} == {"https://127.0.0.1:9/validate"}
        assert not any("service" in config for config in outside)
        assert all(b"CERTIFICATE" in base64.b64decode(each["caBundle"]) for each in outside)

        await Rotation(api, target(), Lifetimes()).tick()
        inside = await client_configs(api)
        assert {config["service"]["name"] for config in inside} == {"guard"}
        assert not any("url" in config for config in inside)

        secret = await api.get(SECRETS, names.CERTIFICATE_SECRET, namespace="default")
        await chore.tick()
        again = await api.get(SECRETS, names.CERTIFICATE_SECRET, namespace="default")
        assert again["metadata"]["resourceVersion"] == secret["metadata"]["resourceVersion"]
    finally:
        kubectl("delete", "-f", "-", stdin=text)
        await api.delete(SECRETS, names.CERTIFICATE_SECRET, namespace="default")


async def test_a_damaged_secret_is_replaced(api: ApiClient) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": names.CERTIFICATE_SECRET, "namespace": "default"},
        "stringData": {"ca.crt": "damaged"},
    }
    await api.create(SECRETS, body)
    try:
        await Rotation(api, target(), Lifetimes()).tick()
        serving = ServingCertificate(api, "default")
        await serving.tick()

        assert serving.is_fresh()
    finally:
        await api.delete(SECRETS, names.CERTIFICATE_SECRET, namespace="default")
