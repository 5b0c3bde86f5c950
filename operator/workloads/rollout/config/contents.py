"""Compares and copies the data of ConfigMaps and Secrets: the only place that ever holds a value.

Data is read when it is compared or copied, and let go at once. What is kept is a digest under a
random key of this process, which is written nowhere and means nothing to anybody else.
Errors name objects, never what is in them.
"""

import hashlib
import secrets
from collections import OrderedDict
from typing import Final

import orjson

from kube_runtime.api import ApiClient
from kube_runtime.clock import Clock
from kube_runtime.errors import AlreadyExists, ApiError, Forbidden, Invalid, NotFound
from kube_runtime.resource import Json, Uid, uid_of
from workloads import names
from workloads.errors import WorkloadsError
from workloads.rollout.config.copies import RESOURCES, TOKEN_TYPE, copy_body, is_copy_of
from workloads.rollout.config.record import Version, copy_name, version_of
from workloads.rollout.config.references import Source
from workloads.writes import until_known

_MAX_DIGESTS: Final = 20_000
_KEY_BYTES: Final = 32


class ConfigMovedError(WorkloadsError):
    """A source is not what it was planned on: the next look starts from what is there."""

    reason = "ConfigMoved"
    retry_after = 0.05


class ConfigRefusedError(WorkloadsError):
    """A copy may not be read or made: by RBAC, a quota, or admission."""

    reason = "ConfigRefused"


class Contents:
    """Reads sources and makes their copies, for all Rollouts of the process."""

    def __init__(self, api: ApiClient, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._key = secrets.token_bytes(_KEY_BYTES)
        self._digests: OrderedDict[tuple[Source, Version], bytes] = OrderedDict()
        self._tokens: set[str] = set()

    def is_token(self, version: Version) -> bool:
        """Tell whether this Secret is known to be the token of a service account."""
        return version.uid in self._tokens

    async def digest(self, namespace: str, source: Source, version: Version) -> bytes | None:
        """Return what stands for the data of the object; None when it is gone."""
        known = self._digests.get((source, version))
        if known is not None:
            self._digests.move_to_end((source, version))
            return known
        live = await self._read(namespace, source)
        if live is None:
            return None
        digest = self._digest(live)
        self._digests[source, version_of(live)] = digest
        while len(self._digests) > _MAX_DIGESTS:
            self._digests.popitem(last=False)
        return digest

    async def copy(self, rollout: Json, source: Source, name: str) -> None:
        """Make the copy of this name; one that an earlier try of ours has made will do.

        Raises ConfigMovedError when the source is no longer what the name was made from.
        """
        namespace: str = rollout["metadata"]["namespace"]
        live = await self._read(namespace, source)
        if live is None or copy_name(uid_of(rollout), source, version_of(live)) != name:
            raise ConfigMovedError(f"{source} has changed since it was looked at")
        if live.get("type") == TOKEN_TYPE:
            self._tokens.add(uid_of(live))
            raise ConfigMovedError(f"{source} is a service account's token, which is never copied")
        body = copy_body(rollout, source, live, name)
        try:
            await until_known(
                lambda: self._api.create(
                    RESOURCES[source.kind], body, field_manager=names.FIELD_MANAGER
                ),
                self._clock,
            )
        except AlreadyExists:
            await self._check_ours(namespace, Source(source.kind, name), uid_of(rollout))
        except (Forbidden, Invalid) as error:
            raise _refused(f"create the copy {name} of {source}", error) from None

    async def _check_ours(self, namespace: str, copy: Source, rollout_uid: Uid) -> None:
        found = await self._read(namespace, copy)
        if found is None:
            raise ConfigMovedError(f"{copy} was deleted meanwhile")
        if not (is_copy_of(found, rollout_uid) and found.get("immutable") is True):
            raise ConfigRefusedError(
                f"{copy}: expected the name to be free for a copy, found somebody else's object; "
                "delete it, or give it another name"
            )

    async def _read(self, namespace: str, source: Source) -> Json | None:
        resource = RESOURCES[source.kind]
        try:
            return await self._api.get(resource, source.name, namespace=namespace)
        except NotFound:
            return None
        except Forbidden as error:
            raise _refused(f"read {source}", error) from None

    def _digest(self, live: Json) -> bytes:
        parts = {part: live.get(part) or {} for part in ("data", "binaryData")}
        body = orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(body, key=self._key, digest_size=_KEY_BYTES).digest()


def _refused(action: str, error: ApiError) -> ConfigRefusedError:
    # An Invalid may quote the value that it complains of; its reason is all that is passed on.
    detail = error.message if isinstance(error, Forbidden) else error.reason
    return ConfigRefusedError(f"cannot {action}: {detail}")
