"""Kubeconfig files: what is found in them, and what a broken one says."""

import base64
import json
import stat
import sys
from pathlib import Path

import pytest
import yaml

from kube_runtime import credentials
from kube_runtime.credentials_file import choose
from kube_runtime.errors import BadKubeconfig
from kube_runtime.resource import Json

SECRET = "do-not-print-this"


def config(**changes: object) -> Json:
    return {
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"}}],
        "users": [{"name": "u", "user": {"token": SECRET}}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
        **changes,
    }


def write(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config"


def test_the_current_context_is_chosen(file: Path) -> None:
    chosen = choose([write(file, config())])

    assert (chosen.context, chosen.namespace) == ("main", "default")
    assert chosen.cluster == {"server": "https://127.0.0.1:6443"}
    assert chosen.user == {"token": SECRET}


def test_a_named_context_is_chosen_with_its_namespace(file: Path) -> None:
    other = {"name": "other", "context": {"cluster": "c", "namespace": "shop"}}

    chosen = choose([write(file, config(contexts=[other]))], "other")

    assert (chosen.namespace, chosen.user) == ("shop", {})


def test_of_several_files_the_first_that_has_an_entry_wins(tmp_path: Path) -> None:
    first = write(tmp_path / "first", config(users=[], clusters=None))
    second = write(tmp_path / "second", config(**{"current-context": "ignored"}))

    chosen = choose([tmp_path / "missing", first, second])

    assert (chosen.context, chosen.user) == ("main", {"token": SECRET})


def test_relative_paths_are_resolved_against_their_file(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").touch()
    (tmp_path / "token").touch()
    cluster = {"server": "https://x", "certificate-authority": "ca.pem"}
    user = {"tokenFile": "token", "exec": {"command": "./bin/login"}}
    file = write(
        tmp_path / "config",
        config(clusters=[{"name": "c", "cluster": cluster}], users=[{"name": "u", "user": user}]),
    )

    chosen = choose([file])

    assert chosen.cluster["certificate-authority"] == str(tmp_path / "ca.pem")
    assert chosen.user["tokenFile"] == str(tmp_path / "token")
    assert chosen.user["exec"]["command"] == str(tmp_path / "bin/login")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ["expected a mapping", "found nothing"]),
        ("- a", ["expected a mapping", "found list"]),
        (f"a: [\n  {SECRET}: }}", ["expected YAML", "at line 2"]),
        (f"a: \x00 {SECRET}", ["expected YAML"]),
        (config(**{"current-context": ""}), ["expected current-context", "--context", "main"]),
        (config(**{"current-context": "nope"}), ["context 'nope'", "found only: main"]),
        (config(contexts=[{"name": "main"}]), ["expected a cluster in context 'main'"]),
        (config(contexts=None), ["context 'main'", "found only: none"]),
        (config(clusters=[]), ["expected cluster 'c'", "found only: none"]),
        (config(clusters=["text"]), ["expected cluster 'c'"]),
        (config(clusters=[{"name": "c", "cluster": {"server": "x:1"}}]), ["http(s) URL", "'x:1'"]),
        (config(clusters=[{"name": "c"}]), ["http(s) URL", "found None"]),
        (config(users=[{"name": "v", "user": {"token": SECRET}}]), ["expected user 'u'", "v"]),
        (
            config(users=[{"name": "u", "user": {"client-key": "none.pem"}}]),
            ["client-key of user 'u'", "none.pem", "found no such file"],
        ),
    ],
)
def test_a_broken_file_is_named_with_what_it_lacks_and_no_secret(
    file: Path, content: object, words: list[str]
) -> None:
    write(file, content)

    with pytest.raises(BadKubeconfig) as caught:
        choose([file])

    message = caught.value.diagnostics()
    for word in [str(file), *words]:
        assert word in message
    assert SECRET not in message
    assert caught.value.__cause__ is None


def test_a_missing_file_says_what_to_do(file: Path) -> None:
    with pytest.raises(BadKubeconfig, match="expected a file, found none; pass --kubeconfig"):
        choose([file])


def test_a_folder_is_not_a_readable_file(tmp_path: Path) -> None:
    with pytest.raises(BadKubeconfig, match="expected a readable file"):
        choose([tmp_path])


async def test_a_token_becomes_the_authorization(file: Path) -> None:
    login = await credentials.load(str(write(file, config())))

    assert login.authorization == f"Bearer {SECRET}"
    assert login.server == "https://127.0.0.1:6443"
    assert login.refresh_seconds is None
    assert login.source == str(file)


async def test_a_token_file_is_read_again_now_and_then(tmp_path: Path) -> None:
    write(tmp_path / "token", f"{SECRET}\n")
    users = [{"name": "u", "user": {"tokenFile": "token"}}]

    login = await credentials.load(str(write(tmp_path / "config", config(users=users))))

    assert login.authorization == f"Bearer {SECRET}"
    assert login.refresh_seconds == 60


async def test_the_environment_names_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", f"/nowhere/config:{write(file, config())}")

    login = await credentials.load()

    assert login.source == f"/nowhere/config:{file}"


async def test_without_anything_the_home_folder_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    with pytest.raises(BadKubeconfig, match=str(tmp_path / ".kube" / "config")):
        await credentials.load()


async def test_a_pod_without_its_token_says_where_it_should_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setattr(credentials, "_SERVICE_ACCOUNT", tmp_path)

    with pytest.raises(BadKubeconfig, match="automountServiceAccountToken"):
        await credentials.load()


@pytest.mark.parametrize("value", ["%%%", 70707, "bm90IHBlbQ=="])
async def test_certificate_data_that_is_none_is_named_without_its_value(
    file: Path, value: object
) -> None:
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority-data": value}
    write(file, config(clusters=[{"name": "c", "cluster": cluster}]))

    with pytest.raises(BadKubeconfig) as caught:
        await credentials.load(str(file))

    assert str(file) in str(caught.value)
    assert str(value) not in str(caught.value)


async def test_inline_keys_leave_no_file_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    data = base64.b64encode(b"no key").decode()
    users = [{"name": "u", "user": {"client-certificate-data": data, "client-key-data": data}}]

    with pytest.raises(BadKubeconfig, match="PEM"):
        await credentials.load(str(write(tmp_path / "config", config(users=users))))

    assert list(folder.iterdir()) == []


def plugin(folder: Path, output: str) -> Json:
    """Write an exec plugin that prints this."""
    script = write(folder / "login", f"#!{sys.executable}\n{output}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    command = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login"}
    return config(users=[{"name": "u", "user": {"exec": command}}])


async def test_an_exec_plugin_is_asked_and_asked_again_before_its_token_expires(
    tmp_path: Path,
) -> None:
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": SECRET, "expirationTimestamp": "2020-01-01T00:00:00Z"},
    }
    content = plugin(tmp_path, f"print({json.dumps(credential)!r})")

    login = await credentials.load(str(write(tmp_path / "config", content)))

    assert login.authorization == f"Bearer {SECRET}"
    assert login.refresh_seconds == 10


async def test_an_exec_plugin_that_fails_is_named(tmp_path: Path) -> None:
    content = plugin(tmp_path, f"raise SystemExit({SECRET!r})")

    with pytest.raises(BadKubeconfig) as caught:
        await credentials.load(str(write(tmp_path / "config", content)))

    assert "exec plugin" in str(caught.value)
    assert str(tmp_path / "login") in str(caught.value)
    assert SECRET not in str(caught.value)


async def test_a_proxy_of_the_environment_is_used_unless_excepted(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example.com:3128")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    clusters = [{"name": "c", "cluster": {"server": "https://api.example.com"}}]

    near = await credentials.load(str(write(file, config())))
    far = await credentials.load(str(write(file, config(clusters=clusters))))

    assert near.proxy is None
    assert far.proxy == "http://proxy.example.com:3128"
    assert near.identity != far.identity
