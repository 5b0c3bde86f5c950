"""What the judge says before it asks anybody over the network."""

from collections.abc import Iterable

import aiohttp
import pytest

from kube_runtime.resource import Json
from supply_chain.admission.images import PodTemplate
from supply_chain.admission.judge import Judge
from supply_chain.admission.pull_secrets import PullSecrets
from supply_chain.cache import VerdictCache
from supply_chain.materials import Materials
from supply_chain.registry.transport import Transport, TransportSettings
from supply_chain.resources import ImagePolicy

TEMPLATE = PodTemplate(uses=(), pull_secrets=(), service_account="default")
# A runtime reads it, and this part does not.
SHA512 = "registry.test/app@sha512:" + "ab" * 64


class _Nothing:
    async def get(self, namespace: str, name: str) -> Json | None:
        del namespace, name
        return None


class _NoPolicies:
    def __init__(self, mode: str) -> None:
        self._mode = mode

    def all(self) -> Iterable[ImagePolicy]:
        return ()

    async def namespace_mode(self, namespace: str) -> str:
        assert namespace == "team"
        return self._mode


@pytest.mark.parametrize(("mode", "is_allowed"), [("enforce", False), ("", True)])
@pytest.mark.parametrize("image", ["registry.test/app:1", SHA512])
async def test_an_image_without_a_policy_is_denied_where_the_namespace_enforces(
    image: str, mode: str, *, is_allowed: bool
) -> None:
    async with aiohttp.ClientSession() as session:
        judge = Judge(
            policies=_NoPolicies(mode),
            materials=Materials(secrets=_Nothing(), config_maps=_Nothing()),
            pull_secrets=PullSecrets(secrets=_Nothing(), service_accounts=_Nothing()),
            transport=Transport(session, TransportSettings(), lambda *_: None),
            cache=VerdictCache(),
        )
        verdicts = await judge.judge_all([image], "team", TEMPLATE)

    assert verdicts[image].is_allowed is is_allowed
