"""The keys and trust roots of a policy: read where they are, parsed once, ready to verify with."""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, assert_never

from kube_runtime.resource import Json
from supply_chain.errors import InvalidPolicy, MaterialUnavailable
from supply_chain.plan.verdict import Finding
from supply_chain.resources import (
    Authority,
    ImagePolicy,
    Inline,
    KeyAuthority,
    KeylessAuthority,
    Material,
    MaterialRef,
    TransparencyLog,
)
from supply_chain.verify import keys
from supply_chain.verify.authorities import ReadyAuthority, ReadyKey, ReadyKeyless
from supply_chain.verify.trust_roots import TrustRoot

_load_root = lru_cache(maxsize=64)(TrustRoot.parse)
_load_key = lru_cache(maxsize=256)(keys.load_public_key)


class Reader(Protocol):
    """Reads one object, None if there is none."""

    async def get(self, namespace: str, name: str) -> Json | None:
        """Return the object; raises MaterialUnavailable if that cannot be told."""


@dataclass(frozen=True, slots=True)
class ReadyPolicy:
    """A policy's authorities that can verify, and those that cannot, with the reason."""

    authorities: Sequence[ReadyAuthority]
    problems: Sequence[Finding]
    fingerprint: str
    """Changes whenever a key, a root or a problem does."""


class Materials:
    """Makes policies ready."""

    def __init__(self, *, secrets: Reader, config_maps: Reader) -> None:
        self._secrets = secrets
        self._config_maps = config_maps

    async def ready(self, policy: ImagePolicy) -> ReadyPolicy:
        """Load what the policy refers to; what cannot be had becomes a problem, not an error."""
        authorities: list[ReadyAuthority] = []
        problems: list[Finding] = []
        fingerprint = hashlib.sha256()
        for authority in policy.authorities:
            try:
                texts = await self._texts(authority)
                authorities.append(_ready(authority, *texts))
            except (InvalidPolicy, MaterialUnavailable) as error:
                problems.append(Finding(authority.name, is_satisfied=False, why=str(error)))
                texts = [str(error)]
            fingerprint.update("\0".join([authority.name, *texts, ""]).encode())
        return ReadyPolicy(authorities, problems, fingerprint.hexdigest())

    async def _texts(self, authority: Authority) -> list[str]:
        root = await self._text(authority.trust_root) if authority.trust_root else ""
        if isinstance(authority, KeyAuthority):
            return [await self._text(authority.key), root]
        return ["", root]

    async def _text(self, material: Material) -> str:
        match material:
            case Inline():
                return material.text
            case MaterialRef():
                reader = self._secrets if material.kind == "Secret" else self._config_maps
                return _entry(await reader.get(material.namespace, material.name), material)
            case _:
                assert_never(material)


def _entry(found: Json | None, reference: MaterialRef) -> str:
    if found is None:
        raise MaterialUnavailable(f"{reference}: there is no such {reference.kind}")
    text = (found.get("data") or {}).get(reference.key)
    if text is None:
        raise MaterialUnavailable(f"{reference}: it has no such entry")
    if reference.kind == "ConfigMap":
        return str(text)
    try:
        return base64.b64decode(text).decode()
    except (ValueError, binascii.Error) as error:
        raise MaterialUnavailable(f"{reference}: it is not text") from error


def _ready(authority: Authority, key: str, root: str) -> ReadyAuthority:
    try:
        match authority:
            case KeyAuthority():
                is_logged = authority.transparency_log is TransparencyLog.REQUIRED
                return ReadyKey(
                    authority.name, _load_key(key), _load_root(root) if is_logged else None
                )
            case KeylessAuthority():
                return ReadyKeyless(authority.name, authority.identities, _load_root(root))
            case _:
                assert_never(authority)
    except InvalidPolicy as error:
        raise InvalidPolicy(f"authority {authority.name}: {error}") from error
