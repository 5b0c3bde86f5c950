"""Where the API server is and who we are to it: kubeconfig, exec plugin or service account.

The one module that touches kubernetes.aio, which is unannotated: it reads tokens, runs exec
plugins and makes the TLS context and connection pool; what comes out is typed.
Called by the transport, at the start and whenever credentials are to be read again.
"""

import asyncio
import base64
import binascii
import hashlib
import os
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config.config_exception import ConfigException
from kubernetes.aio.config.incluster_config import InClusterConfigLoader
from kubernetes.aio.config.kube_config import KubeConfigLoader

from kube_runtime.credentials_file import Chosen, choose
from kube_runtime.errors import BadKubeconfig
from kube_runtime.resource import Json

_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_LOAD_SECONDS: Final = 30.0  # an exec plugin may ask its cloud
_TOKEN_FILE_SECONDS: Final = 60.0  # a bound token is renewed at 80 % of an hour; client-go: 60 s
_EXPIRY_MARGIN_SECONDS: Final = 60.0
_SHORTEST_REFRESH_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Login:
    """One reading of the credentials."""

    server: str
    source: str
    namespace: str
    authorization: str | None
    refresh_seconds: float | None
    tls_server_name: str | None
    proxy: str | None
    identity: str  # of server, CA and client certificate: when it changes, the pool is made anew
    rest: Any  # kubernetes.aio's RESTClientObject, with its TLS context made

    def open_pool(self, user_agent: str) -> aiohttp.ClientSession:
        """Open the connection pool; the caller closes it."""
        self.rest.configuration.client_session_kwargs = {
            "headers": {"User-Agent": user_agent, "Accept": "application/json"},
            # The proxy was looked up once; aiohttp would scan the environment at each request.
            "trust_env": False,
        }
        session: aiohttp.ClientSession = self.rest._create_pool_manager()  # noqa: SLF001 - its documented factory; request() alone calls it, with the generated client's JSON
        return session


async def load(kubeconfig: str | None = None, context: str | None = None) -> Login:
    """Read the credentials: the given file, $KUBECONFIG, the pod's own, ~/.kube/config."""
    files = _files(kubeconfig)
    if files is None:
        return await asyncio.to_thread(_from_service_account, _SERVICE_ACCOUNT)
    chosen = await asyncio.to_thread(choose, files, context)
    try:
        async with asyncio.timeout(_LOAD_SECONDS):
            return await _from_context(chosen)
    except TimeoutError as error:
        raise BadKubeconfig(
            f"kubeconfig {chosen.source}: expected credentials for context {chosen.context!r} "
            f"within {_LOAD_SECONDS:.0f} s, found none; run the user's exec command by hand"
        ) from error


def _files(kubeconfig: str | None) -> list[Path] | None:
    """Tell the files to read; None stands for the service account of the pod."""
    named = kubeconfig or os.environ.get("KUBECONFIG")
    if named:
        return [Path(part).expanduser() for part in named.split(os.pathsep) if part]
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return None
    return [Path.home() / ".kube" / "config"]


async def _from_context(chosen: Chosen) -> Login:
    configuration = Configuration()
    with _config_for(chosen) as config:
        loader = KubeConfigLoader(config, config_base_path="")
        try:
            await loader.load_and_set(configuration)
        except (ConfigException, ValueError, OSError, LookupError, TypeError) as error:
            raise BadKubeconfig(
                f"kubeconfig {chosen.source}: expected usable credentials in context "
                f"{chosen.context!r}, found {type(error).__name__}; check its user entry"
            ) from error
        _check_exec(chosen, configuration)
        return _login(
            configuration,
            source=chosen.source,
            namespace=chosen.namespace,
            refresh_seconds=_refresh_seconds(chosen, loader),
        )


def _from_service_account(folder: Path) -> Login:
    configuration = Configuration()
    loader = InClusterConfigLoader(
        token_filename=str(folder / "token"), cert_filename=str(folder / "ca.crt")
    )
    try:
        loader.load_and_set(configuration)
        namespace = (folder / "namespace").read_text(encoding="utf-8").strip()
    except (ConfigException, OSError) as error:
        raise BadKubeconfig(
            f"service account {folder}: expected token, ca.crt and namespace, found: {error}; "
            "set automountServiceAccountToken or pass --kubeconfig"
        ) from error
    return _login(
        configuration,
        source=str(folder),
        namespace=namespace,
        refresh_seconds=_TOKEN_FILE_SECONDS,
    )


@contextmanager
def _config_for(chosen: Chosen) -> Iterator[Json]:
    """Write the context as a kubeconfig for the loader, with inline keys in files.

    The loader would leave private keys in the temporary folder until the process ends, for ever
    if it is killed; ours are gone as soon as the TLS context has read them.
    """
    with tempfile.TemporaryDirectory(prefix="levelset-") as folder:
        cluster = _data_to_files(chosen, chosen.cluster, Path(folder), "certificate-authority")
        user = _data_to_files(chosen, chosen.user, Path(folder), "client-certificate", "client-key")
        yield {
            "current-context": "chosen",
            "contexts": [{"name": "chosen", "context": {"cluster": "it", "user": "it"}}],
            "clusters": [{"name": "it", "cluster": cluster}],
            "users": [{"name": "it", "user": user}],
        }


def _data_to_files(chosen: Chosen, values: Json, folder: Path, *fields: str) -> Json:
    result = dict(values)
    for field in fields:
        data = result.pop(f"{field}-data", None)
        if not data:
            continue
        try:
            content = base64.b64decode(data, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise BadKubeconfig(
                f"kubeconfig {chosen.source}: expected base64 in {field}-data of context "
                f"{chosen.context!r}, found something else; correct it"
            ) from None
        path = folder / field
        path.touch(mode=0o600)
        path.write_bytes(content)
        result[field] = str(path)
    return result


def _check_exec(chosen: Chosen, configuration: Any) -> None:
    """Turn the loader's silence about a failed exec plugin into an error."""
    plugin = chosen.user.get("exec")
    if plugin and not configuration.api_key and not configuration.cert_file:
        raise BadKubeconfig(
            f"kubeconfig {chosen.source}: expected a token or certificate from the exec plugin "
            f"{plugin.get('command')!r}, found none; run it by hand to see why"
        )


def _refresh_seconds(chosen: Chosen, loader: Any) -> float | None:
    """Tell when the credentials should be read again without being asked to."""
    expiry: datetime | None = getattr(loader, "exec_plugin_expiry", None)
    if expiry is not None:
        left = (expiry - datetime.now(UTC)).total_seconds() - _EXPIRY_MARGIN_SECONDS
        return max(left, _SHORTEST_REFRESH_SECONDS)
    return _TOKEN_FILE_SECONDS if "tokenFile" in chosen.user else None


def _login(
    configuration: Any, *, source: str, namespace: str, refresh_seconds: float | None
) -> Login:
    configuration.connection_pool_maxsize = 0  # the client bounds what is in flight itself
    # Python 3.13 refuses CAs without some RFC 5280 extensions, which many clusters have and
    # client-go accepts; chain, name and dates are still verified.
    configuration.disable_strict_ssl_verification = True
    configuration.proxy = configuration.proxy or _environment_proxy(configuration.host)
    try:
        identity = _identity(configuration)
        rest = RESTClientObject(configuration)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise BadKubeconfig(
            f"kubeconfig {source}: expected PEM certificates and a matching key, "
            f"found: {getattr(error, 'reason', None) or error}; correct the certificate data"
        ) from error
    token = configuration.api_key.get("BearerToken")
    return Login(
        server=configuration.host.rstrip("/"),
        source=source,
        namespace=namespace,
        authorization=token.strip() if token else None,
        refresh_seconds=refresh_seconds,
        tls_server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
        identity=identity,
        rest=rest,
    )


def _environment_proxy(server: str) -> str | None:
    """Look up HTTPS_PROXY and NO_PROXY once."""
    url = urlsplit(server)
    if urllib.request.proxy_bypass(url.hostname or ""):
        return None
    return urllib.request.getproxies().get(url.scheme)


def _identity(configuration: Any) -> str:
    digest = hashlib.sha256()
    for value in (configuration.host, configuration.proxy, configuration.tls_server_name):
        digest.update(f"{value}\0".encode())
    for file in (configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file):
        digest.update(Path(file).read_bytes() if file else b"\0")
    digest.update(str(configuration.verify_ssl).encode())
    return digest.hexdigest()
