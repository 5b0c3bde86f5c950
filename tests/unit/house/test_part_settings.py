"""Numbers with which no process can work are wrong usage, told in the words of their flags."""

from typing import Any

import pytest

from gitops_agent.settings import AgentSettings
from kube_runtime.settings import load_settings
from supply_chain.settings import SupplyChainSettings
from workloads.settings import WorkloadsSettings

REFUSED: list[tuple[Any, str]] = [
    (WorkloadsSettings, "--podset-workers=0"),
    (WorkloadsSettings, "--max-in-flight=-1"),
    (WorkloadsSettings, "--qps=0"),
    (WorkloadsSettings, "--burst=0"),
    (WorkloadsSettings, "--resync-seconds=0"),
    (WorkloadsSettings, "--request-timeout-seconds=0"),
    (AgentSettings, "--workers=0"),
    (AgentSettings, "--qps=-5"),
    (AgentSettings, "--sync-timeout-seconds=0"),
    (AgentSettings, "--git-timeout-seconds=0"),
    (AgentSettings, "--render-timeout-seconds=0"),
    (SupplyChainSettings, "--registry-request-seconds=0"),
    (SupplyChainSettings, "--certificate-tick-seconds=0"),
    (SupplyChainSettings, "--certificate-seconds=0"),
    (SupplyChainSettings, "--authority-seconds=0"),
]


@pytest.mark.parametrize(("settings", "flag"), REFUSED, ids=str)
def test_what_cannot_work_is_refused(
    settings: Any, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        load_settings(settings, [flag], env_prefix="TEST_", environ={}, prog="part")

    name, _, value = flag.partition("=")
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert said.startswith(f"part: {name}: expected more than 0, found {value}; ")


@pytest.mark.parametrize("settings", [WorkloadsSettings, AgentSettings, SupplyChainSettings])
def test_the_defaults_can_work(settings: Any) -> None:
    assert load_settings(settings, [], env_prefix="TEST_", environ={}) == settings()
