"""Repository credentials: which Secret serves which URL, and what is in it.

The Secrets lie in the Application's own namespace, labelled levelset.dev/secret-type=repository.
Values never appear in a repr, a message or an argument list.
"""

import base64
import binascii
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from gitops_agent.errors import GitOpsError, InvalidSpec
from gitops_agent.source.urls import RepositoryUrl, parse
from kube_runtime.resource import Json, uid_of

_KEYS: Final = ("url", "username", "password", "sshPrivateKey", "knownHosts", "ca")


@dataclass(frozen=True, slots=True)
class Credentials:
    """What is shown to one repository server; `identity` names the Secret, not its values."""

    identity: str
    username: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    ssh_private_key: str = field(default="", repr=False)
    known_hosts: str = field(default="", repr=False)
    ca: str = field(default="", repr=False)

    def scrub(self, text: str) -> str:
        """Take every secret value out of a text that a foreign program wrote."""
        basic = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
        for value in (self.password, basic, self.ssh_private_key):
            if len(value) > 2:
                text = text.replace(value, "***")
        return text


ANONYMOUS: Final = Credentials(identity="")


def select(secrets: Iterable[Json], url: RepositoryUrl) -> Credentials:
    """Return the credentials whose url is the longest prefix of this one, or ANONYMOUS."""
    matching: list[tuple[int, str, Credentials]] = []
    for secret in secrets:
        values = _values(secret)
        name = secret["metadata"]["name"]
        prefix = _prefix(values.get("url", ""))
        if prefix is not None and prefix.covers(url):
            matching.append((len(prefix.path), name, _credentials(secret, values)))
    # The name breaks ties, so that two Secrets of one prefix do not alternate.
    return max(matching, key=lambda entry: entry[:2])[2] if matching else ANONYMOUS


def _credentials(secret: Json, values: dict[str, str]) -> Credentials:
    metadata = secret["metadata"]
    where = f"{metadata.get('namespace', '')}/{metadata['name']}"
    if "sshPrivateKey" in values and not values.get("knownHosts", "").strip():
        raise InvalidSpec(
            f"Secret {where}: has sshPrivateKey but no knownHosts; "
            "add the server's line from a source you trust (host keys are always checked)"
        )
    return Credentials(
        identity=f"{where}/{uid_of(secret)}",
        username=values.get("username", ""),
        password=values.get("password", ""),
        ssh_private_key=values.get("sshPrivateKey", ""),
        known_hosts=values.get("knownHosts", ""),
        ca=values.get("ca", ""),
    )


def _prefix(text: str) -> RepositoryUrl | None:
    """Read the url of a Secret; one that is broken covers nothing."""
    try:
        return parse(text.strip().rstrip("/"), field="url")
    except GitOpsError:
        return None


def _values(secret: Json) -> dict[str, str]:
    data = secret.get("data") or {}
    return {key: _decoded(data[key]) for key in _KEYS if data.get(key)}


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
