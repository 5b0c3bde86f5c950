"""What the API server itself refuses in a policy, and what the status says of the rest."""

from typing import Any

import pytest

from tests.contract.supply_chain.harness import Json, Lab, wait_for

pytestmark = pytest.mark.contract

PEM = "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n"
KEY: Json = {"name": "a", "key": {"data": PEM}, "transparencyLog": "Ignored"}
IDENTITY = {"issuer": "https://issuer.example.test", "subject": "dev@example.test"}
KEYLESS: Json = {
    "name": "a",
    "keyless": {"identities": [IDENTITY]},
    "trustRoot": {"inline": "{}"},
}


def policy(*, globs: Any = ("registry.example.test/**",), authorities: Any = (KEY,)) -> Json:
    return {
        "apiVersion": "levelset.dev/v1alpha1",
        "kind": "ClusterImagePolicy",
        "metadata": {"name": "refused"},
        "spec": {"images": [{"glob": glob} for glob in globs], "authorities": list(authorities)},
    }


def without(authority: Json, name: str) -> Json:
    return {key: value for key, value in authority.items() if key != name}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (policy(globs=()), "should have at least 1 items"),
        (policy(globs=("nginx",)), "name the registry's host first"),
        (policy(globs=("registry.example.test/app:1",)), "leave tag and digest out"),
        (policy(globs=("registry.example.test/app@sha256:00",)), "should match"),
        (policy(authorities=()), "should have at least 1 items"),
        (policy(authorities=(KEY, KEY)), "Duplicate value"),
        (policy(authorities=(without(KEY, "key"),)), "exactly one of key and keyless"),
        (policy(authorities=(without(KEY, "transparencyLog"),)), "give the trustRoot"),
        (policy(authorities=({**KEY, "key": {}},)), "exactly one of data and secretRef"),
        (policy(authorities=({**KEY, "key": {"data": "secret"}},)), "BEGIN PUBLIC KEY"),
        (policy(authorities=(without(KEYLESS, "trustRoot"),)), "give the trustRoot"),
        (
            policy(authorities=({**KEYLESS, "transparencyLog": "Ignored"},)),
            "cannot do without the transparency log",
        ),
        (
            policy(authorities=({**KEYLESS, "keyless": {"identities": []}},)),
            "should have at least 1 items",
        ),
        (
            policy(authorities=({**KEYLESS, "keyless": {"identities": [{"issuer": "x"}]}},)),
            "exactly one of subject and subjectRegExp",
        ),
        (
            policy(authorities=({**KEYLESS, "keyless": {"identities": [{"subject": "x"}]}},)),
            "exactly one of issuer and issuerRegExp",
        ),
        (policy(authorities=({**KEY, "subject": "ignored"},)), "unknown field"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused_by_the_api_server(
    lab: Lab, obj: Json, expected: str
) -> None:
    assert expected in lab.refused(obj)


@pytest.mark.parametrize(
    ("authority", "expected"),
    [
        (KEY, "not a PEM public key"),
        (KEYLESS, "not a trusted_root.json"),
    ],
)
def test_what_only_code_can_tell_stands_in_the_status(
    lab: Lab, authority: Json, expected: str
) -> None:
    name = lab.policy("registry.example.test/status/**", authority)

    ready = lab.get("clusterimagepolicy", name)["status"]["conditions"][0]

    assert (ready["type"], ready["status"]) == ("Ready", "False")
    assert expected in ready["message"]


def test_a_pattern_outside_of_the_dialect_stalls_the_policy_and_names_the_field(lab: Lab) -> None:
    identity = {"issuer": "https://issuer.example.test", "subjectRegExp": "(?=a)b"}
    authority = {**KEYLESS, "keyless": {"identities": [identity]}}

    name = lab.policy("registry.example.test/dialect/**", authority)

    conditions = lab.get("clusterimagepolicy", name)["status"]["conditions"]
    assert {each["type"] for each in conditions} == {"Ready", "Stalled"}
    assert "spec.authorities[0].keyless.identities[0].subjectRegExp" in conditions[0]["message"]


def test_a_good_policy_is_ready_for_kubectl_wait(lab: Lab) -> None:
    name = lab.policy("registry.example.test/good/**", lab.key_authority())

    lab.kubectl("wait", "--for=condition=Ready", f"clusterimagepolicy/{name}", "--timeout=10s")


def test_a_deleted_policy_is_forgotten(lab: Lab) -> None:
    namespace = lab.namespace()
    name = lab.policy("registry.example.test/forgotten", lab.key_authority(), namespace=namespace)
    image = "registry.example.test/forgotten:1"
    run = ("run", "web", f"--image={image}", "-n", namespace)
    assert lab.kubectl(*run, check=False).returncode == 1

    lab.kubectl("delete", "imagepolicy", name, "-n", namespace)

    wait_for("the image is free", lambda: lab.kubectl(*run, check=False).returncode == 0)
