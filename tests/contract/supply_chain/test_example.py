"""examples/04-image-policy, as its README says."""

import json

import pytest

from tests.contract.supply_chain.harness import ROOT, Lab, pod, wait_for
from tests.unit.supply_chain import private_sigstore as sigstore

pytestmark = pytest.mark.contract

EXAMPLE = ROOT / "examples" / "04-image-policy"


def test_the_example_refuses_the_unsigned_image_and_runs_the_signed_one(lab: Lab) -> None:
    image = lab.push("shop/web")
    secret = ("create", "secret", "generic", "release-key", "-n", "levelset-system")
    lab.kubectl(*secret, f"--from-file=cosign.pub={lab.cosign.public_key}")
    lab.kubectl("create", "namespace", "shop")
    lab.kubectl("create", "serviceaccount", "default", "-n", "shop", check=False)
    lab.kubectl("apply", "-f", EXAMPLE / "policy.yaml")
    lab.kubectl("wait", "--for=condition=Ready", "clusterimagepolicy/release", "--timeout=20s")
    run = ("run", "web", "-n", "shop", f"--image={image.by_tag}")

    refusal = lab.kubectl(*run, check=False).stderr
    lab.sign(image)
    admitted = wait_for(
        "the refusal is no longer repeated",
        lambda: lab.kubectl(*run, check=False).returncode == 0,
        seconds=45,
    )

    assert "denied by ClusterImagePolicy/release: it is not signed" in refusal
    assert "an authority of the policy accepts (release-key)" in refusal
    assert admitted
    [container] = lab.get("pod", "web", "shop")["spec"]["containers"]
    assert container["image"] == image.by_digest


def test_the_other_manifests_of_the_example_are_good(lab: Lab) -> None:
    namespace = lab.kubectl("get", "namespace", "shop", check=False)
    if namespace.returncode:
        lab.kubectl("create", "namespace", "shop")
    root = json.dumps(sigstore.PrivateSigstore().root())
    lab.kubectl(
        "create", "configmap", "sigstore", f"--from-literal=trusted_root.json={root}", "-n", "shop"
    )

    lab.kubectl("apply", "-f", EXAMPLE / "keyless.yaml", "-f", EXAMPLE / "enforce.yaml")
    lab.kubectl(
        *("wait", "--for=condition=Ready", "imagepolicy/built-by-ci", "-n", "shop"),
        "--timeout=20s",
    )
    lab.kubectl("create", "serviceaccount", "default", "-n", "strict", check=False)

    assert "no image policy covers" in lab.refused(pod("strict", "registry.example.test/a:1"))
    lab.kubectl("delete", "-f", EXAMPLE / "keyless.yaml", "-f", EXAMPLE / "policy.yaml")
