"""Credentials and challenges: who sees which password."""

import base64
import json
from typing import Any

import pytest
from yarl import URL

from supply_chain.errors import RegistryDenied
from supply_chain.registry import auth
from supply_chain.registry.credentials import (
    ANONYMOUS_SCOPE,
    Keychain,
    keychain,
    pull_secret_document,
)


def document(**auths: Any) -> bytes:
    return json.dumps({"auths": {k.replace("__", "/"): v for k, v in auths.items()}}).encode()


def login(password: str) -> dict[str, str]:
    return {"username": "user", "password": password}


def password_for(chain: Keychain, host: str, repository: str = "team/app") -> str | None:
    credential = chain.credential_for(host, repository)
    return credential.password if credential else None


def test_the_longest_fitting_entry_is_used_and_no_other_hosts() -> None:
    auths = {
        "r.test": login("host"),
        "r.test/team": login("team"),
        "https://s.test/v2/": login("s"),
    }
    chain = keychain([json.dumps({"auths": auths}).encode()])

    assert password_for(chain, "r.test") == "team"
    assert password_for(chain, "r.test", "teammate/app") == "host"
    assert password_for(chain, "s.test") == "s"
    assert password_for(chain, "t.test") is None
    assert password_for(chain, "evil-r.test") is None


@pytest.mark.parametrize("name", ["https://index.docker.io/v1/", "docker.io", "index.docker.io"])
def test_all_names_of_docker_hub_are_one(name: str) -> None:
    chain = keychain([json.dumps({"auths": {name: login("hub")}}).encode()])

    assert password_for(chain, "docker.io", "library/nginx") == "hub"


def test_auth_in_one_field_and_old_secrets_are_read() -> None:
    pair = base64.b64encode(b"user:pass:word").decode()
    old = {
        "data": {".dockercfg": base64.b64encode(json.dumps({"r.test": {"auth": pair}}).encode())}
    }
    found = pull_secret_document(old)

    assert found is not None
    assert password_for(keychain([found]), "r.test") == "pass:word"


@pytest.mark.parametrize(
    "broken",
    [b"", b"null", b"[]", b"{}", b'{"auths": 7}', b'{"auths": {"r.test": 7}}',
     b'{"auths": {"r.test": {"auth": "!"}}}', b'{"auths": {"r.test": {"username": 7}}}'],
)  # fmt: skip
def test_a_broken_configuration_is_passed_over(broken: bytes) -> None:
    assert password_for(keychain([broken, document(**{"r.test": login("x")})]), "r.test") == "x"


def test_no_representation_shows_the_password() -> None:
    chain = keychain([document(**{"r.test": login("very-secret")})])

    assert "very-secret" not in repr(chain)
    assert "very-secret" not in chain.scope_for("r.test", "a")


def test_scopes_tell_logins_apart() -> None:
    one = keychain([document(**{"r.test": login("1")})])
    two = keychain([document(**{"r.test": login("2")})])
    scopes = {chain.scope_for("r.test", "a") for chain in (one, two, Keychain())}

    assert len(scopes) == 3
    assert ANONYMOUS_SCOPE in scopes


def test_challenges_are_read() -> None:
    bearer = auth.parse_challenge('Bearer realm="https://r.test/token",service="r",scope="x"')

    assert bearer == auth.Bearer(URL("https://r.test/token"), "r")
    assert auth.parse_challenge('Basic realm="r"') == auth.Basic()


@pytest.mark.parametrize(
    "header", ["", "Negotiate", "Bearer", 'Bearer realm=""', "Bearer x" * 9999]
)
def test_a_challenge_that_asks_for_nothing_known_is_none(header: str) -> None:
    assert auth.parse_challenge(header) is None


@pytest.mark.parametrize(
    ("realm", "registry", "is_allowed"),
    [
        ("https://r.test/token", "https://r.test", True),
        ("https://auth.docker.io/token", "https://registry-1.docker.io", True),
        ("https://evil.test/token", "https://r.test", False),
        ("https://r.test.evil.test/token", "https://r.test", False),
        ("https://r.test:444/token", "https://r.test", False),
        ("http://r.test/token", "https://r.test", False),
        ("https://user@r.test/token", "https://r.test", False),
        ("http://127.0.0.1:5000/token", "http://127.0.0.1:5000", True),
        ("file://r.test/token", "https://r.test", False),
    ],
)
def test_a_token_is_asked_for_only_where_the_registry_is_at_home(
    realm: str, registry: str, *, is_allowed: bool
) -> None:
    hosts = auth.parse_token_hosts(auth.DEFAULT_TOKEN_HOSTS)
    challenge = auth.Bearer(URL(realm), "r")

    if is_allowed:
        url = auth.token_url(challenge, URL(registry), "team/app", token_hosts=hosts)
        assert url.query["scope"] == "repository:team/app:pull"
    else:
        with pytest.raises(RegistryDenied, match="--token-hosts"):
            auth.token_url(challenge, URL(registry), "team/app", token_hosts=hosts)
