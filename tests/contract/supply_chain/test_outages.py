"""The process dies, comes back, and changes its certificates; nothing slips through meanwhile."""

import json
import threading
import time
import urllib.request
from collections.abc import Iterator

import pytest

from tests.contract.supply_chain.harness import Lab, Pushed, deployment, pod, wait_for

pytestmark = pytest.mark.contract


@pytest.fixture(scope="module")
def signed(lab: Lab) -> Pushed:
    image = lab.push()
    lab.sign(image)
    lab.policy(image.name, lab.key_authority())
    return image


@pytest.fixture
def _guard_comes_back(lab: Lab) -> Iterator[None]:
    flags = lab.guard.flags
    yield
    assert lab.guard.process is not None
    if lab.guard.process.poll() is None:
        lab.guard.stop()
    lab.guard.flags = flags
    lab.guard.start()
    namespace = lab.namespace()
    wait_for("admission is back", lambda: not lab.refused(pod(namespace, "r.example.test/a:1")))


@pytest.mark.usefixtures("_guard_comes_back")
def test_while_the_process_is_dead_no_pod_gets_in_and_everything_else_goes_on(
    lab: Lab, signed: Pushed
) -> None:
    namespace = lab.namespace()
    lab.apply(pod(namespace, signed.by_tag, name="web"))
    lab.apply(deployment(namespace, signed.by_tag, replicas=3))

    lab.guard.kill()

    assert "failed calling webhook" in lab.refused(pod(namespace, signed.by_digest))
    lab.kubectl("label", "pod", "web", "a=b", "-n", namespace)
    lab.kubectl("scale", "deployment", "web", "--replicas=1", "-n", namespace)
    status = json.dumps({"status": {"phase": "Running"}})
    lab.kubectl("patch", "pod", "web", "-n", namespace, "--subresource=status", "-p", status)
    lab.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")

    lab.guard.start()
    wait_for(
        "admission is back", lambda: not lab.refused(pod(namespace, signed.by_digest)), seconds=30
    )


@pytest.mark.usefixtures("_guard_comes_back")
def test_certificates_rotate_under_traffic_without_a_refused_request(
    lab: Lab, signed: Pushed
) -> None:
    """Authorities of 9 s and certificates of 4 s: several generations in the time of the test."""
    namespace = lab.namespace()
    lab.guard.stop()
    lab.kubectl(
        *("delete", "secret", "levelset-supply-chain-certificates", "-n", "levelset-system")
    )
    lab.guard.flags = [
        *("--certificate-tick-seconds", "0.25", "--announce-seconds", "1"),
        *("--retire-seconds", "2", "--authority-seconds", "9", "--certificate-seconds", "4"),
    ]
    lab.guard.start()
    wait_for("admission is back", lambda: not lab.refused(pod(namespace, signed.by_digest)))

    bundles: set[str] = set()
    refusals: list[str] = []
    admitted = [0]
    ends = time.monotonic() + 15

    def traffic() -> None:
        while time.monotonic() < ends:
            if refusal := lab.refused(pod(namespace, signed.by_digest)):
                refusals.append(refusal)
            admitted[0] += 1

    threads = [threading.Thread(target=traffic) for _ in range(2)]
    for thread in threads:
        thread.start()
    while time.monotonic() < ends:
        configuration = lab.get("validatingwebhookconfiguration", "levelset-supply-chain")
        bundles.add(configuration["webhooks"][0]["clientConfig"]["caBundle"])
        time.sleep(0.5)
    for thread in threads:
        thread.join()

    assert refusals == []
    assert admitted[0] > 20
    assert len(bundles) >= 4, "announced, signing, retired, gone: at least one whole turn"


def test_a_cabundle_that_somebody_empties_is_put_back(lab: Lab, signed: Pushed) -> None:
    namespace = lab.namespace()
    patch = {"webhooks": [{"name": "pods.images.levelset.dev", "clientConfig": {"caBundle": ""}}]}
    lab.kubectl(
        *("patch", "validatingwebhookconfiguration", "levelset-supply-chain"),
        *("--type=strategic", "-p", json.dumps(patch)),
    )

    wait_for("admission works", lambda: not lab.refused(pod(namespace, signed.by_digest)))

    configuration = lab.get("validatingwebhookconfiguration", "levelset-supply-chain")
    assert all(webhook["clientConfig"]["caBundle"] for webhook in configuration["webhooks"])


def test_the_metrics_tell_what_was_decided(lab: Lab, signed: Pushed) -> None:
    namespace = lab.namespace()
    lab.apply(pod(namespace, signed.by_tag))
    lab.refused(pod(namespace, signed.name + ":absent"))

    url = f"http://127.0.0.1:{lab.guard.metrics_port}"
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if line and not line.startswith("#"))

    allowed = (
        'levelset_admission_reviews_total{operation="create",result="allowed",webhook="mutate"}'
    )
    assert float(values[allowed]) >= 1
    assert float(values['levelset_image_verdicts_total{result="verified"}']) >= 1
    assert float(values['levelset_image_verdicts_total{result="error"}']) >= 1
    assert float(values["levelset_registry_insecure_hosts"]) >= 1
    with urllib.request.urlopen(f"{url}/readyz", timeout=10) as answer:
        assert answer.status == 200
