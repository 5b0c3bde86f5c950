"""What a registry asks for when it answers 401, and whether we follow.

A challenge is text from a server that may be hostile: the realm that it names gets our credential
only if it is the registry itself, or a host that the settings tie to this registry.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from yarl import URL

from supply_chain.errors import RegistryDenied

_PARAMETER = re.compile(r'([a-zA-Z]+)="([^"]{0,2048})"')
_MAX_HEADER: Final = 4096

DEFAULT_TOKEN_HOSTS: Final = ("registry-1.docker.io=auth.docker.io",)


@dataclass(frozen=True, slots=True)
class Basic:
    """The registry wants user name and password with each request."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """The registry wants a token, to be had at `realm`."""

    realm: URL
    service: str


def parse_challenge(header: str) -> Basic | Bearer | None:
    """Read a WWW-Authenticate header; None if it asks for nothing that we know."""
    scheme, _, rest = header[:_MAX_HEADER].partition(" ")
    if scheme.lower() == "basic":
        return Basic()
    if scheme.lower() != "bearer":
        return None
    parameters = {name.lower(): value for name, value in _PARAMETER.findall(rest)}
    try:
        realm = URL(parameters.get("realm", ""))
    except ValueError:
        return None
    return Bearer(realm, parameters.get("service", "")) if realm.host else None


def token_url(
    challenge: Bearer, registry: URL, repository: str, *, token_hosts: Mapping[str, str]
) -> URL:
    """Return where to ask for a pull token; raises RegistryDenied if the realm is not trusted."""
    realm = challenge.realm
    own, named = _authority(registry), _authority(realm)
    allowed = {own, token_hosts.get(own, own)}
    if named not in allowed or realm.user or realm.scheme not in {"https", registry.scheme}:
        raise RegistryDenied(
            f"registry {own} sends us to {realm.scheme}://{named} for a token, which is not allowed; "
            f"if that is right, add --token-hosts {own}={named}"
        )
    return realm.update_query(service=challenge.service, scope=f"repository:{repository}:pull")


def parse_token_hosts(pairs: tuple[str, ...]) -> dict[str, str]:
    """Read `registry=token-host` settings; raises ValueError naming the bad one."""
    found = {}
    for pair in pairs:
        registry, equals, realm = pair.partition("=")
        if not equals or not registry or not realm:
            raise ValueError(f"--token-hosts: expected registry=token-host, found {pair!r}")
        found[registry.lower()] = realm.lower()
    return found


def _authority(url: URL) -> str:
    host = url.host_subcomponent or ""
    return host if url.is_default_port() else f"{host}:{url.port}"
