"""The leader's chore: keep the certificate Secret and the webhooks' caBundle as the plan says.

Every tick looks at what is there and mends it, so a caBundle that somebody emptied by applying a
manifest again is back within seconds.
"""

import base64
import binascii
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kube_runtime import logs
from kube_runtime.api import ApiClient, PatchType
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.errors import AlreadyExists, Conflict, LevelsetError, NotFound
from kube_runtime.resource import SECRETS, Json, Resource
from supply_chain import names
from supply_chain.certificates.plan import Certificates, Lifetimes, plan
from supply_chain.certificates.secret import read_secret, write_secret
from supply_chain.errors import BadCertificates

_log: Final = logging.getLogger(__name__)
_CONFIGURATIONS: Final[Sequence[Resource]] = (names.MUTATING_WEBHOOKS, names.VALIDATING_WEBHOOKS)
_PATHS: Final = {
    names.MUTATING_WEBHOOKS: names.MUTATE_PATH,
    names.VALIDATING_WEBHOOKS: names.VALIDATE_PATH,
}


@dataclass(frozen=True, slots=True)
class Target:
    """Where the API server finds us: a Service of the namespace, or the URL if there is one."""

    namespace: str
    service: str
    dns_names: tuple[str, ...]
    url: str = ""

    def client_config(self, path: str) -> Json:
        """Return what a webhook's clientConfig should say of the way to us."""
        if self.url:
            return {"url": self.url.rstrip("/") + path, "service": None}
        service = {"namespace": self.namespace, "name": self.service, "path": path, "port": 443}
        return {"url": None, "service": service}


class Rotation:
    """Runs while leading."""

    def __init__(
        self,
        api: ApiClient,
        target: Target,
        lifetimes: Lifetimes,
        *,
        tick_seconds: float = 5.0,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self._api = api
        self._target = target
        self._lifetimes = lifetimes
        self._tick_seconds = tick_seconds
        self._clock = clock
        self._missing: set[Resource] = set()

    async def run(self) -> None:
        """Mend for ever; a failure is logged and tried again at the next tick."""
        while True:
            try:
                await self.tick()
            except LevelsetError as error:
                _log.warning(
                    "certificates not renewed",
                    extra=logs.fields(reason=error.reason, error=error.diagnostics()),
                )
            await self._clock.sleep(self._tick_seconds)

    async def tick(self) -> None:
        """Look once, mend once."""
        configurations = [(kind, await self._configuration(kind)) for kind in _CONFIGURATIONS]
        installed = [(kind, found) for kind, found in configurations if found is not None]
        trusted = [_trusted(webhook) for _, found in installed for webhook in found["webhooks"]]
        certificates = await self._renewed(trusted)
        for kind, found in installed:
            await self._publish(kind, found, certificates.bundle)

    async def _renewed(self, trusted: Sequence[bytes]) -> Certificates:
        secret = await self._secret()
        present = _readable(secret)
        wanted = plan(
            present,
            names=self._target.dns_names,
            lifetimes=self._lifetimes,
            now=self._clock.now(),
            is_announced=lambda pem: bool(trusted) and all(pem.strip() in each for each in trusted),
        )
        if wanted is not present:
            await self._write(secret, wanted)
            _log.info(
                "certificates renewed",
                extra=logs.fields(expires=wanted.serving.expires, names=wanted.names),
            )
        return wanted

    async def _secret(self) -> Json | None:
        try:
            return await self._api.get(
                SECRETS, names.CERTIFICATE_SECRET, namespace=self._target.namespace
            )
        except NotFound:
            return None

    async def _write(self, old: Json | None, wanted: Certificates) -> None:
        body: Json = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "Opaque",
            "metadata": {"name": names.CERTIFICATE_SECRET, "namespace": self._target.namespace},
            "data": write_secret(wanted),
        }
        try:
            if old is None:
                await self._api.create(SECRETS, body, field_manager=names.FIELD_MANAGER)
            else:
                # The version makes sure that a former leader's late write cannot undo this one.
                body["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
                await self._api.replace(SECRETS, body, field_manager=names.FIELD_MANAGER)
        except (AlreadyExists, Conflict) as error:
            raise BadCertificates("somebody else renewed the certificates just now") from error

    async def _configuration(self, kind: Resource) -> Json | None:
        try:
            found = await self._api.get(kind, names.WEBHOOK_CONFIGURATION)
        except NotFound:
            if kind not in self._missing:
                _log.warning(
                    "webhook configuration is not installed",
                    extra=logs.fields(kind=kind.kind, name=names.WEBHOOK_CONFIGURATION),
                )
            self._missing.add(kind)
            return None
        self._missing.discard(kind)
        return found

    async def _publish(self, kind: Resource, found: Json, bundle: bytes) -> None:
        client_config = self._target.client_config(_PATHS[kind])
        client_config["caBundle"] = base64.b64encode(bundle).decode()
        stale = [w["name"] for w in found["webhooks"] if not _has(w["clientConfig"], client_config)]
        if stale:
            patch = {"webhooks": [{"name": n, "clientConfig": client_config} for n in stale]}
            await self._api.patch(
                kind,
                names.WEBHOOK_CONFIGURATION,
                patch,
                type=PatchType.STRATEGIC,
                field_manager=names.FIELD_MANAGER,
            )
            _log.info("caBundle published", extra=logs.fields(kind=kind.kind, webhooks=stale))


def _has(present: Json, wanted: Json) -> bool:
    return all(present.get(name) == value for name, value in wanted.items())


def _trusted(webhook: Json) -> bytes:
    try:
        return base64.b64decode(webhook["clientConfig"].get("caBundle") or "")
    except (ValueError, binascii.Error):
        return b""


def _readable(secret: Json | None) -> Certificates | None:
    """A damaged Secret is replaced: the webhook refuses everything until there is a good one."""
    if secret is None:
        return None
    try:
        return read_secret(secret)
    except BadCertificates as error:
        _log.warning("certificate Secret is damaged", extra=logs.fields(error=str(error)))
        return None
