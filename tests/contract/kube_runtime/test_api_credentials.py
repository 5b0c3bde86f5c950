"""Credentials that rotate, fail and are wrong, against a real API server."""

import base64
import shutil
import stat
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from kube_runtime import credentials
from kube_runtime.api import ApiClient
from kube_runtime.clock import FakeClock
from kube_runtime.errors import Forbidden, Unauthorized, Unreachable
from kube_runtime.resource import CONFIG_MAPS, SERVICE_ACCOUNTS
from local_cluster.pki import Authority
from tests.faults import faults
from tests.faults.proxy import LISTS, FaultProxy

pytestmark = pytest.mark.contract

SELF = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


async def connect(kubeconfig: Path) -> ApiClient:
    return await ApiClient.connect(
        kubeconfig=str(kubeconfig), user_agent="levelset-tests", timeout_seconds=10
    )


async def who_am_i(api: ApiClient) -> str:
    review = await api.request("POST", SELF, body={})
    name: str = review["status"]["userInfo"]["username"]
    return name


async def token_for(api: ApiClient, namespace: str, name: str = "default") -> str:
    answer = await api.create(
        SERVICE_ACCOUNTS, {"spec": {}}, namespace=namespace, name=name, subresource="token"
    )
    token: str = answer["status"]["token"]
    return token


def cluster_of(kubeconfig: Path) -> dict[str, Any]:
    cluster: dict[str, Any] = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    return cluster


def write_config(path: Path, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    document = {
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": cluster}],
        "users": [{"name": "it", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


async def test_a_token_file_that_rotated_is_read_again_after_a_401(
    api: ApiClient, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("stale")
    config = write_config(tmp_path / "config", cluster_of(kubeconfig), {"tokenFile": "token"})

    async with await connect(config) as client:
        with pytest.raises(Unauthorized):
            await who_am_i(client)
        token.write_text(await token_for(api, namespace))

        assert await who_am_i(client) == f"system:serviceaccount:{namespace}:default"


async def test_a_token_file_is_read_again_each_minute_without_a_401(
    api: ApiClient, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    await api.create(SERVICE_ACCOUNTS, {"metadata": {"name": "other", "namespace": namespace}})
    token = tmp_path / "token"
    token.write_text(await token_for(api, namespace))
    config = write_config(tmp_path / "config", cluster_of(kubeconfig), {"tokenFile": "token"})
    clock = FakeClock()
    client = await ApiClient.connect(
        kubeconfig=str(config), user_agent="levelset-tests", clock=clock
    )

    async with client:
        token.write_text(await token_for(api, namespace, "other"))
        before = await who_am_i(client)
        clock.shift(61)
        after = await who_am_i(client)

    assert before == f"system:serviceaccount:{namespace}:default"
    assert after == f"system:serviceaccount:{namespace}:other"


async def test_an_exec_plugin_is_asked_again_after_a_401(
    api: ApiClient, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("stale")
    plugin = tmp_path / "login"
    plugin.write_text(
        f"#!{sys.executable}\nimport json, pathlib\n"
        f"token = pathlib.Path({str(token)!r}).read_text()\n"
        "print(json.dumps({'apiVersion': 'client.authentication.k8s.io/v1',"
        " 'kind': 'ExecCredential', 'status': {'token': token}}))\n"
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login"}
    config = write_config(tmp_path / "config", cluster_of(kubeconfig), {"exec": command})

    async with await connect(config) as client:
        token.write_text(await token_for(api, namespace))

        assert await who_am_i(client) == f"system:serviceaccount:{namespace}:default"


async def test_a_pod_uses_its_service_account(
    api: ApiClient,
    kubeconfig: Path,
    namespace: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = cluster_of(kubeconfig)
    server = urlsplit(cluster["server"])
    (tmp_path / "token").write_text(await token_for(api, namespace))
    (tmp_path / "namespace").write_text(namespace)
    (tmp_path / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", str(server.hostname))
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    monkeypatch.setattr(credentials, "_SERVICE_ACCOUNT", tmp_path)

    async with await ApiClient.connect(user_agent="levelset-tests") as client:
        assert await who_am_i(client) == f"system:serviceaccount:{namespace}:default"
        assert client.namespace == namespace
        with pytest.raises(Forbidden):
            await client.list(CONFIG_MAPS, namespace=namespace)


async def test_another_authority_is_refused_with_the_place_to_look(
    kubeconfig: Path, tmp_path: Path
) -> None:
    stranger = Authority.create(tmp_path / "pki", "stranger")
    cluster = {**cluster_of(kubeconfig), "certificate-authority": str(stranger.certificate)}
    del cluster["certificate-authority-data"]
    config = write_config(tmp_path / "config", cluster, {})

    async with await connect(config) as client:
        with pytest.raises(Unreachable, match="check certificate-authority") as caught:
            await who_am_i(client)

    assert str(config) in str(caught.value)


async def test_a_kubeconfig_that_leads_elsewhere_now_is_followed_after_a_401(
    proxy: FaultProxy, kubeconfig: Path
) -> None:
    async with await connect(proxy.kubeconfig) as client:
        await client.request("GET", "/version")
        shutil.copyfile(kubeconfig, proxy.kubeconfig)
        proxy.fail(faults.answer(401), when=LISTS)
        before = len(proxy.seen)

        await client.request("GET", "/version")
        await client.request("GET", "/version")

        assert len(proxy.seen) == before + 1
        assert client.server == cluster_of(kubeconfig)["server"]


async def test_a_kubeconfig_that_broke_in_the_meantime_keeps_the_old_credentials(
    proxy: FaultProxy,
) -> None:
    async with await connect(proxy.kubeconfig) as client:
        proxy.kubeconfig.write_text("broken: [")
        proxy.fail(faults.answer(401), when=LISTS)

        with pytest.raises(Unauthorized):
            await client.request("GET", "/version")

        assert "gitVersion" in await client.request("GET", "/version")
