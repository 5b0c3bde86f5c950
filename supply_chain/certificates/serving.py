"""The certificate that this replica serves with, reloaded in place.

One SSLContext lives as long as the process: loading another chain into it changes new handshakes
and leaves open connections alone, so nothing is refused on the way.
"""

import datetime as dt
import logging
import os
import ssl
from collections.abc import Callable
from typing import Final

from kube_runtime import logs
from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK, Clock
from kube_runtime.errors import LevelsetError
from kube_runtime.resource import SECRETS, resource_version_of
from supply_chain import names
from supply_chain.certificates.secret import read_secret
from supply_chain.certificates.x509 import Signer
from supply_chain.errors import BadCertificates

_log: Final = logging.getLogger(__name__)
_FIRST_SECONDS: Final = 0.5


class ServingCertificate:
    """Follows the certificate Secret; `run` is one of the process's services."""

    def __init__(
        self,
        api: ApiClient,
        namespace: str,
        *,
        tick_seconds: float = 5.0,
        observe_expiry: Callable[[dt.datetime], None] = lambda _: None,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._api = api
        self._namespace = namespace
        self._tick_seconds = tick_seconds
        self._observe_expiry = observe_expiry
        self._clock = clock
        self._version = ""
        self._serving: Signer | None = None

    def is_fresh(self) -> bool:
        """Tell whether what we serve with is valid now; readiness hangs on it."""
        now = self._clock.now()
        return self._serving is not None and self._serving.expires > now

    async def run(self) -> None:
        """Reload for ever; a failure is logged and what was loaded last stays."""
        while True:
            try:
                await self.tick()
            except LevelsetError as error:
                if self._serving is not None:
                    _log.warning(
                        "certificate not reloaded", extra=logs.fields(error=error.diagnostics())
                    )
            await self._clock.sleep(self._tick_seconds if self._serving else _FIRST_SECONDS)

    async def tick(self) -> None:
        """Load the Secret's certificate if it is another one than before."""
        secret = await self._api.get(SECRETS, names.CERTIFICATE_SECRET, namespace=self._namespace)
        if resource_version_of(secret) == self._version:
            return
        certificates = read_secret(secret)
        if certificates is None:
            raise BadCertificates("the certificate Secret is empty")
        _load(self.context, certificates.serving)
        self._serving = certificates.serving
        self._version = resource_version_of(secret)
        self._observe_expiry(certificates.serving.expires)
        _log.info("certificate loaded", extra=logs.fields(expires=certificates.serving.expires))


def _load(context: ssl.SSLContext, signer: Signer) -> None:
    """Python loads certificates from files alone; this one is in memory and has no name."""
    descriptor = os.memfd_create("certificate", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, signer.key_pem + signer.certificate_pem)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    except (OSError, ssl.SSLError) as error:
        raise BadCertificates(f"the certificate cannot be loaded: {error}") from error
    finally:
        os.close(descriptor)
