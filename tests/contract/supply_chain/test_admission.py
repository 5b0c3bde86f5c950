"""What the API server lets in: real control plane, real registry, real cosign, our process."""

import asyncio
import json
import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from local_cluster.services.signing import Cosign
from tests.contract.supply_chain import registries
from tests.contract.supply_chain.harness import Json, Lab, Pushed, deployment, pod
from tests.unit.supply_chain import private_sigstore as sigstore

pytestmark = pytest.mark.contract

KEY = ec.generate_private_key(ec.SECP256R1())
OWN_KEY: Json = {
    "name": "own-key",
    "key": {"data": sigstore.public_pem(KEY)},
    "transparencyLog": "Ignored",
}


@pytest.fixture(scope="module")
def signed(lab: Lab) -> Pushed:
    """An image with cosign's signature, and a policy that asks for it."""
    image = lab.push()
    lab.sign(image)
    lab.policy(image.name, lab.key_authority())
    return image


@pytest.fixture(scope="module")
def unsigned(lab: Lab) -> Pushed:
    """An image without a signature, and a policy that asks for one."""
    image = lab.push()
    lab.policy(image.name, lab.key_authority())
    return image


@pytest.fixture
def namespace(lab: Lab) -> str:
    return lab.namespace()


def test_a_signed_image_is_admitted_and_pinned_to_its_digest(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    lab.apply(pod(namespace, signed.by_tag, name="web"))

    [container] = lab.get("pod", "web", namespace)["spec"]["containers"]
    assert container["image"] == signed.by_digest


def test_kubectl_run_of_an_unsigned_image_is_told_policy_digest_and_reason(
    lab: Lab, namespace: str
) -> None:
    image = lab.push()
    policy = lab.policy(image.name, lab.key_authority())

    done = lab.kubectl("run", "evil", f"--image={image.by_tag}", "-n", namespace, check=False)

    expected = (
        rf"image {re.escape(image.by_tag)} \({image.digest}\): "
        rf"denied by ClusterImagePolicy/{policy}: it is not signed; sign the digest"
    )
    assert done.returncode == 1
    assert re.search(expected, done.stderr), done.stderr


def test_a_tag_that_moves_to_an_unsigned_image_is_refused(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    moved = lab.push(signed.repository, "moving")

    assert "it is not signed" in lab.refused(pod(namespace, moved.by_tag))
    assert not lab.refused(pod(namespace, signed.by_tag))


def test_a_signature_by_another_key_is_refused(lab: Lab, namespace: str, tmp_path: Path) -> None:
    image = lab.push()
    lab.sign(image, by=asyncio.run(Cosign.create(tmp_path / "other")))
    lab.policy(image.name, lab.key_authority())

    refusal = lab.refused(pod(namespace, image.by_digest))

    assert "was not made with the policy's key" in refusal


def test_an_attestation_alone_is_not_a_signature(lab: Lab, namespace: str) -> None:
    image = lab.push()
    said = sigstore.statement(image.digest, predicate_type="https://spdx.dev/Document")
    registries.attach(image, sigstore.raw(sigstore.key_bundle(KEY, said)))
    lab.policy(image.name, OWN_KEY)

    refusal = lab.refused(pod(namespace, image.by_digest))

    assert "attestation (https://spdx.dev/Document) and no signature" in refusal


def test_a_signature_for_another_digest_is_refused(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    image = lab.push()
    registries.attach(image, sigstore.raw(sigstore.key_bundle(KEY)))
    lab.policy(image.name, OWN_KEY)

    assert "the signature is for sha256:abab" in lab.refused(pod(namespace, image.by_digest))


@pytest.mark.parametrize("where", ["initContainers", "ephemeralContainers", "volumes"])
def test_an_unsigned_image_is_refused_wherever_a_pod_may_name_it(
    lab: Lab, signed: Pushed, unsigned: Pushed, namespace: str, where: str
) -> None:
    if where == "ephemeralContainers":
        lab.apply(pod(namespace, signed.by_digest, name="web"))
        debug = {"name": "debug", "image": unsigned.by_digest}
        patch = json.dumps({"spec": {where: [debug]}})
        done = lab.kubectl(
            *("patch", "pod", "web", "-n", namespace, "--subresource=ephemeralcontainers"),
            *("-p", patch),
            check=False,
        )
        refusal = done.stderr
    elif where == "volumes":
        source = {"name": "data", "image": {"reference": unsigned.by_digest}}
        refusal = lab.refused(pod(namespace, signed.by_digest, volumes=[source]))
    else:
        init = [{"name": "init", "image": unsigned.by_digest}]
        refusal = lab.refused(pod(namespace, signed.by_digest, initContainers=init))

    assert "it is not signed" in refusal


def test_a_signed_image_is_pinned_in_an_ephemeral_container_and_a_volume(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    source = {"name": "data", "image": {"reference": signed.by_tag}}
    lab.apply(pod(namespace, signed.by_tag, name="web", volumes=[source]))
    debug = json.dumps({"spec": {"ephemeralContainers": [{"name": "d", "image": signed.by_tag}]}})
    lab.kubectl(
        *("patch", "pod", "web", "-n", namespace, "--subresource=ephemeralcontainers"),
        *("-p", debug),
    )

    spec = lab.get("pod", "web", namespace)["spec"]

    assert spec["volumes"][0]["image"]["reference"] == signed.by_digest
    assert spec["ephemeralContainers"][0]["image"] == signed.by_digest


def test_a_workload_with_an_unsigned_image_is_refused_and_one_with_a_signed_is_left_as_written(
    lab: Lab, signed: Pushed, unsigned: Pushed, namespace: str
) -> None:
    assert "it is not signed" in lab.refused(deployment(namespace, unsigned.by_tag))

    lab.apply(deployment(namespace, signed.by_tag))

    template = lab.get("deployment", "web", namespace)["spec"]["template"]
    assert template["spec"]["containers"][0]["image"] == signed.by_tag


@pytest.mark.parametrize("kind", ["Rollout", "PodSet", "Job", "CronJob"])
def test_the_other_workload_kinds_are_refused_early_too(
    lab: Lab, unsigned: Pushed, namespace: str, kind: str
) -> None:
    template = deployment(namespace, unsigned.by_tag)["spec"]["template"]
    group = {"Rollout": "levelset.dev/v1alpha1", "PodSet": "levelset.dev/v1alpha1"}
    spec: Json = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    if kind in {"Job", "CronJob"}:
        spec = {"template": {"spec": {**template["spec"], "restartPolicy": "Never"}}}
    if kind == "CronJob":
        spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": spec}}
    obj = {
        "apiVersion": group.get(kind, "batch/v1"),
        "kind": kind,
        "metadata": {"name": "web", "namespace": namespace},
        "spec": spec,
    }

    assert "it is not signed" in lab.refused(obj)


def test_a_server_side_dry_run_gets_the_same_refusal(
    lab: Lab, unsigned: Pushed, namespace: str
) -> None:
    text = json.dumps(deployment(namespace, unsigned.by_tag))

    done = lab.kubectl("apply", "--dry-run=server", "-f", "-", stdin=text, check=False)

    assert done.returncode == 1
    assert "it is not signed" in done.stderr


def test_a_namespaced_policy_tightens_and_cannot_loosen(
    lab: Lab, signed: Pushed, unsigned: Pushed, namespace: str
) -> None:
    registries.attach(
        unsigned, sigstore.raw(sigstore.key_bundle(KEY, sigstore.statement(unsigned.digest)))
    )
    lab.policy("**", OWN_KEY, namespace=namespace)

    loosened = lab.refused(pod(namespace, unsigned.by_digest))
    tightened = lab.refused(pod(namespace, signed.by_digest))
    elsewhere = lab.refused(pod(lab.namespace(), signed.by_digest))

    assert "denied by ClusterImagePolicy/" in loosened
    assert "denied by ImagePolicy/" in tightened
    assert elsewhere == ""


def test_an_image_that_no_policy_covers_is_refused_only_where_the_namespace_enforces(
    lab: Lab, namespace: str
) -> None:
    enforcing = lab.namespace(**{"levelset.dev/image-policy": "enforce"})
    image = "registry.example.test/nobody/knows:1"

    assert lab.refused(pod(namespace, image)) == ""
    assert "no image policy covers registry.example.test/nobody/knows" in lab.refused(
        pod(enforcing, image)
    )


def test_a_namespace_that_ignores_policies_and_the_system_ones_are_left_alone(
    lab: Lab, unsigned: Pushed
) -> None:
    ignoring = lab.namespace(**{"levelset.dev/image-policy": "ignore"})

    assert lab.refused(pod(ignoring, unsigned.by_tag)) == ""
    lab.kubectl("create", "serviceaccount", "default", "-n", "levelset-system", check=False)
    assert lab.refused(pod("levelset-system", unsigned.by_tag)) == ""


def test_a_key_in_a_secret_of_the_policys_own_namespace_is_used(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    key = lab.cosign.public_key
    lab.kubectl(
        "create", "secret", "generic", "signer", f"--from-file=cosign.pub={key}", "-n", namespace
    )
    authority = {
        "name": "from-secret",
        "key": {"secretRef": {"name": "signer"}},
        "transparencyLog": "Ignored",
    }
    lab.policy("**", authority, namespace=namespace)

    assert lab.refused(pod(namespace, signed.by_digest)) == ""


def test_a_policy_whose_secret_is_missing_denies_and_says_so(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    authority = {
        "name": "from-secret",
        "key": {"secretRef": {"name": "absent"}},
        "transparencyLog": "Ignored",
    }
    name = lab.policy("**", authority, namespace=namespace)

    refusal = lab.refused(pod(namespace, signed.by_digest))
    status = lab.get("imagepolicy", name, namespace)["status"]

    assert f"Secret {namespace}/absent[cosign.pub]: there is no such Secret" in refusal
    [ready] = [each for each in status["conditions"] if each["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "AuthorityUnavailable")


def test_a_keyless_signature_by_the_identity_is_admitted_and_by_another_is_refused(
    lab: Lab, namespace: str
) -> None:
    private = sigstore.PrivateSigstore()
    good, other = lab.push(), lab.push()
    for image, subject in ((good, sigstore.SUBJECT), (other, "https://github.com/evil/app")):
        bundle = private.keyless_bundle(sigstore.statement(image.digest), subject=subject)
        registries.attach(image, sigstore.raw(bundle))
    root = json.dumps(private.root())
    lab.kubectl(
        "create",
        "configmap",
        "sigstore",
        f"--from-literal=trusted_root.json={root}",
        "-n",
        namespace,
    )
    identity = {
        "issuer": sigstore.ISSUER,
        "subjectRegExp": r"https://github\.com/acme/.*",
    }
    authority = {
        "name": "ci",
        "keyless": {"identities": [identity]},
        "trustRoot": {"configMapRef": {"name": "sigstore"}},
    }
    lab.policy("**", authority, namespace=namespace)

    assert lab.refused(pod(namespace, good.by_tag)) == ""
    assert "signed by https://github.com/evil/app" in lab.refused(pod(namespace, other.by_tag))
