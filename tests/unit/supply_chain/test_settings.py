"""The settings of the process: secure unless a word says otherwise, and no nonsense."""

import pytest

from kube_runtime.settings import load_settings
from supply_chain.settings import SupplyChainSettings


def load(*argv: str) -> SupplyChainSettings:
    return load_settings(SupplyChainSettings, argv, env_prefix="LEVELSET_SUPPLY_CHAIN_", environ={})


def test_the_defaults_are_secure_and_shorter_than_the_webhook_allows() -> None:
    settings = load()

    assert settings.insecure_registries == ()
    assert settings.verification_seconds < 10
    assert settings.registry_request_seconds < settings.verification_seconds


def test_the_certificate_is_for_the_service_and_for_the_host_of_the_url() -> None:
    names = load("--webhook-url", "https://10.0.0.1:9443").certificate_names

    assert names == (
        "levelset-supply-chain.levelset-system.svc",
        "levelset-supply-chain.levelset-system.svc.cluster.local",
        "10.0.0.1",
    )


@pytest.mark.parametrize(
    "argv",
    [
        ("--webhook-url", "http://10.0.0.1"),
        ("--webhook-url", "https://"),
        ("--webhook-url", "https://a:99999"),
        ("--admission-port", "70000"),
        ("--verification-seconds", "9.5"),
        ("--allow-cache-seconds", "7200"),
        ("--deny-cache-seconds", "300"),
        ("--token-hosts", "nonsense"),
    ],
)
def test_what_cannot_work_is_a_usage_error(argv: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as caught:
        load(*argv)

    assert caught.value.code == 2
