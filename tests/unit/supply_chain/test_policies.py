"""Policies parsed, and what follows from them for an image."""

from typing import Any

import pytest

from supply_chain.plan import verdict as plan
from supply_chain.plan.verdict import Finding
from supply_chain.registry.reference import Digest, parse_reference
from supply_chain.resources import (
    ImagePolicy,
    Inline,
    KeyAuthority,
    KeylessAuthority,
    MaterialRef,
    TransparencyLog,
    parse_policy,
)

Json = dict[str, Any]
DIGEST = Digest("sha256:" + "ab" * 32)
KEY: Json = {"name": "key", "key": {"data": "PEM"}, "transparencyLog": "Ignored"}
KEYLESS: Json = {
    "name": "ci",
    "keyless": {"identities": [{"issuer": "https://i.test", "subjectRegExp": "dev@.*"}]},
    "trustRoot": {"configMapRef": {"name": "sigstore"}},
}


def policy(
    *authorities: Json, globs: tuple[Any, ...] = ("**",), namespace: str = "", name: str = "p"
) -> ImagePolicy:
    metadata = {"name": name, "uid": f"uid-{name}", "generation": 3}
    raw = {
        "kind": "ImagePolicy" if namespace else "ClusterImagePolicy",
        "metadata": metadata | ({"namespace": namespace} if namespace else {}),
        "spec": {
            "images": [{"glob": glob} for glob in globs],
            "authorities": list(authorities or (KEY,)),
        },
    }
    return parse_policy(raw, install_namespace="levelset-system")


def test_a_key_and_an_identity_are_read() -> None:
    key, keyless = policy(KEY, KEYLESS).authorities

    assert key == KeyAuthority("key", Inline("PEM"), TransparencyLog.IGNORED, None)
    assert isinstance(keyless, KeylessAuthority)
    assert keyless.identities[0].subject.matches("dev@example.test")
    assert not keyless.identities[0].subject.matches("x-dev@example.test")


@pytest.mark.parametrize(
    ("glob", "image"),
    [
        ("registry.test:443/team/**", "registry.test/team/app"),
        ("registry.test:05000/team/*", "registry.test:5000/team/app"),
        ("index.docker.io/team/*", "team/app"),
        ("docker.io:443/**", "nginx"),
        ("docker.io/nginx", "nginx"),
    ],
)
def test_a_glob_matches_however_its_host_is_written(glob: str, image: str) -> None:
    assert plan.covering([policy(globs=(glob,))], parse_reference(image), "team")


@pytest.mark.parametrize(("namespace", "expected"), [("", "levelset-system"), ("team", "team")])
def test_a_reference_is_bound_to_one_namespace(namespace: str, expected: str) -> None:
    [authority] = policy(KEYLESS, namespace=namespace).authorities

    assert authority.trust_root == MaterialRef(
        "ConfigMap", expected, "sigstore", "trusted_root.json"
    )


@pytest.mark.parametrize(
    ("authority", "path"),
    [
        ({**KEY, "extra": 1}, "spec.authorities[0].extra"),
        ({**KEY, "key": {"data": "x", "kms": "y"}}, "spec.authorities[0].key.kms"),
        ({**KEY, "keyless": {}}, "spec.authorities[0]"),
        ({**KEY, "transparencyLog": "Maybe"}, "spec.authorities[0].transparencyLog"),
        ({**KEY, "transparencyLog": "Required"}, "spec.authorities[0].trustRoot"),
        ({**KEYLESS, "transparencyLog": "Ignored"}, "spec.authorities[0].transparencyLog"),
        ({**KEYLESS, "keyless": {"identities": []}}, "spec.authorities[0].keyless.identities"),
        (
            {**KEYLESS, "keyless": {"identities": [{"issuer": "i"}]}},
            "spec.authorities[0].keyless.identities[0]",
        ),
        (
            {**KEYLESS, "keyless": {"identities": [{"issuer": "i", "subjectRegExp": "("}]}},
            "spec.authorities[0].keyless.identities[0].subjectRegExp",
        ),
        ({"name": ""}, "spec.authorities[0].name"),
        (7, "spec.authorities[0]"),
    ],
)
def test_what_makes_no_sense_is_named_by_its_path(authority: Any, path: str) -> None:
    problem = policy(authority).problem

    assert problem is not None
    assert problem.startswith(path)


def test_a_policy_that_makes_no_sense_denies_what_it_covers() -> None:
    broken = policy({**KEY, "extra": 1}, globs=("docker.io/**",))
    image = parse_reference("nginx")

    assert plan.covering([broken], image, "team") == [broken]
    assert not plan.invalid(broken).is_allowed


def test_a_policy_whose_globs_make_no_sense_covers_everything() -> None:
    assert policy(globs=(7,)).covers("docker.io/library/nginx", "team")


def test_a_namespaced_policy_speaks_in_its_namespace_alone() -> None:
    tenant = policy(namespace="team")
    image = parse_reference("nginx")

    assert plan.covering([tenant], image, "team") == [tenant]
    assert plan.covering([tenant], image, "other") == []


def test_every_covering_policy_must_be_satisfied() -> None:
    image = parse_reference("nginx")
    good = [Finding("key", is_satisfied=True, why="signed by key")]
    bad = [Finding("key", is_satisfied=False, why="it is not signed")]
    cluster = plan.decide(policy(name="cluster"), bad)
    tenant = plan.decide(policy(namespace="team", name="tenant"), good)

    verdict = plan.combine(image, DIGEST, [cluster, tenant])

    assert not verdict.is_allowed
    assert verdict.message == (
        f"image nginx ({DIGEST}): denied by ClusterImagePolicy/cluster: it is not signed; "
        "sign the digest as an authority of the policy accepts (key)"
    )
    assert plan.combine(image, DIGEST, [tenant]).is_allowed


def test_one_authority_suffices_and_none_is_a_denial() -> None:
    bad = Finding("a", is_satisfied=False, why="no")
    good = Finding("b", is_satisfied=True, why="signed by b")

    assert plan.decide(policy(), [bad, good]).is_allowed
    assert not plan.decide(policy(), [bad]).is_allowed
    assert not plan.decide(policy(), []).is_allowed


def test_different_reasons_are_told_with_their_authority() -> None:
    first = Finding("a", is_satisfied=False, why="wrong key")
    second = Finding("b", is_satisfied=False, why="wrong identity")

    assert plan.decide(policy(), [first, second]).why == "a: wrong key; b: wrong identity"


def test_an_image_without_policy_is_denied_only_in_an_enforcing_namespace() -> None:
    image = parse_reference("nginx")

    assert plan.unmatched(image, namespace="team", mode="").is_allowed
    enforced = plan.unmatched(image, namespace="team", mode="enforce")
    assert not enforced.is_allowed
    assert "no image policy covers docker.io/library/nginx" in enforced.message


@pytest.mark.parametrize("spec", [None, {}, {"images": 7}])
def test_a_policy_that_says_nothing_denies_everything_rather_than_nothing(spec: Any) -> None:
    metadata = {"name": "p", "uid": "u"}
    raw = {"kind": "ClusterImagePolicy", "metadata": metadata, "spec": spec}

    parsed = parse_policy(raw, install_namespace="levelset-system")

    assert parsed.problem is not None
    assert parsed.covers("docker.io/library/nginx", "team")
