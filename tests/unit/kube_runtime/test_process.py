"""The parts of the process shell that need no cluster; the rest is in the contract tests."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kopf
import pytest

from kube_runtime import process
from kube_runtime.errors import BadKubeconfig
from kube_runtime.process import ProcessSettings, run_main
from kube_runtime.settings import load_settings


@pytest.fixture(autouse=True)
def root_logger_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_an_error_we_know_is_one_line_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> int:
        raise BadKubeconfig("kubeconfig /x: expected a file, found none; pass --kubeconfig")

    code = run_main(ProcessSettings(name="levelset-test"), main)

    assert code == 1
    assert capsys.readouterr().err == (
        "levelset-test: kubeconfig /x: expected a file, found none; pass --kubeconfig\n"
    )


@pytest.mark.parametrize(
    "flags", [["--debug"], ["--debug", "--log-level=error"], ["--log-level=debug"]]
)
def test_the_trace_is_shown_to_those_who_ask_for_it(
    flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    async def main() -> int:
        raise BadKubeconfig("kubeconfig /x")

    settings = load_settings(ProcessSettings, flags, env_prefix="TEST_", environ={})
    run_main(settings, main)

    said = capsys.readouterr().err
    assert "Traceback" in said
    assert said.splitlines()[-1] == "levelset: kubeconfig /x"


def test_a_main_that_ends_well_gives_its_code() -> None:
    async def main() -> int:
        return 0

    assert run_main(ProcessSettings(), main) == 0


@pytest.mark.parametrize("decorator", [kopf.on.create, kopf.on.update, kopf.on.delete, kopf.timer])
def test_a_handler_that_would_write_to_users_objects_is_refused(
    decorator: Any,
) -> None:
    registry = kopf.OperatorRegistry()

    @decorator("levelset.dev", "v1alpha1", "podsets", registry=registry)  # type: ignore[untyped-decorator]  # one of four
    async def handler(**_: object) -> None: ...

    with pytest.raises(TypeError, match=r"expected only on\.event"):
        process._refuse_writing_handlers(registry)


def test_wake_ups_and_admission_are_welcome() -> None:
    registry = kopf.OperatorRegistry()

    @kopf.on.event("levelset.dev", "v1alpha1", "podsets", registry=registry)
    async def wake_up(**_: object) -> None: ...

    @kopf.on.validate("pods", registry=registry, id="verify")
    async def verify(**_: object) -> None: ...

    process._refuse_writing_handlers(registry)


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it, namespace: ns}}]
users: [{name: it, user: {token: secret-token}}]
clusters:
- name: it
  cluster:
    server: https://127.0.0.1:6443
    proxy-url: http://127.0.0.1:3128
    tls-server-name: kubernetes.default
"""


async def test_kopf_goes_the_same_way_to_the_cluster_as_we_do(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG, encoding="utf-8")
    settings = ProcessSettings(kubeconfig=str(kubeconfig))
    shell = process._KopfShell(settings, lambda _: None, lambda: True, ["ns"])

    info = await shell._login()

    async with info.aiohttp_session as session:
        assert info.server == "https://127.0.0.1:6443"
        assert info.default_namespace == "ns"
        assert session.headers["Authorization"] == "Bearer secret-token"
        assert session.request.keywords == {  # type: ignore[attr-defined]  # a partial
            "proxy": "http://127.0.0.1:3128",
            "server_hostname": "kubernetes.default",
        }


async def test_credentials_that_cannot_be_read_now_are_tried_again(tmp_path: Path) -> None:
    settings = ProcessSettings(kubeconfig=str(tmp_path / "absent"))
    shell = process._KopfShell(settings, lambda _: None, lambda: True, ["ns"])

    with pytest.raises(kopf.TemporaryError, match="absent"):
        await shell._login()


def test_a_first_interrupt_during_the_start_is_no_trace() -> None:
    async def main() -> int:
        raise KeyboardInterrupt

    assert run_main(ProcessSettings(), main) == 130


def test_kopf_is_told_to_write_nothing() -> None:
    settings = process._kopf_settings()

    assert not settings.posting.enabled
    assert settings.process.ultimate_exiting_timeout is None


@pytest.mark.parametrize(
    ("flag", "found"),
    [
        ("--lease-seconds=5", "2.0, 10.0, 5"),
        ("--renew-seconds=15", "2.0, 15.0, 15"),
        ("--retry-seconds=9", "9.0, 10.0, 15"),  # with its jitter it could miss the renewal
        ("--retry-seconds=0", "0.0, 10.0, 15"),
    ],
)
def test_lease_times_that_do_not_fit_are_a_usage_error(
    flag: str, found: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        load_settings(ProcessSettings, [flag], env_prefix="TEST_", environ={})

    assert caught.value.code == 2
    said = capsys.readouterr().err
    assert f"expected each to be less than the next, found {found}" in said


def test_the_name_of_the_process_is_not_the_users() -> None:
    with pytest.raises(SystemExit):
        load_settings(ProcessSettings, ["--name=x"], env_prefix="TEST_", environ={})
