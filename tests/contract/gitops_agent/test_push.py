"""The push webhook: only what is signed is heard, and it only wakes what is there."""

import asyncio
import hashlib
import hmac
import io
import json
from collections.abc import Mapping

import aiohttp
import pytest

from gitops_agent.agent import Agent
from local_cluster.services.git_server import GitServer
from tests.contract.gitops_agent.conftest import WEBHOOK_SECRET, Repository, Scene, config_map

pytestmark = pytest.mark.contract


def _sign(body: bytes, secret: str = WEBHOOK_SECRET) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


async def _post(agent: Agent, body: bytes, headers: Mapping[str, str]) -> int:
    url = f"http://127.0.0.1:{agent.receiver.port}/push"
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            url, data=io.BytesIO(body), headers=headers, timeout=aiohttp.ClientTimeout(10)
        ) as answer,
    ):
        return answer.status


def _github(body: bytes, **changes: str) -> dict[str, str]:
    return {"X-GitHub-Event": "push", "X-Hub-Signature-256": f"sha256={_sign(body)}"} | changes


async def test_a_push_with_a_wrong_signature_is_refused_and_changes_nothing(
    agent: Agent, scene: Scene, repository: Repository, git_server: GitServer
) -> None:
    first = await repository.push({"a.yaml": config_map("a", v="1")})
    await scene.application()
    await scene.until_synced(first)
    git_server.set_webhook(f"http://127.0.0.1:{agent.receiver.port}/push", secret="another secret")
    requests = await _requests_at_rest(agent)

    await repository.push({"a.yaml": config_map("a", v="2")})

    assert _requests(agent) == requests
    assert (await scene.get())["status"]["sync"]["revision"] == first


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 401, id="no signature"),
        pytest.param({"X-GitHub-Event": "push"}, 401, id="signature missing"),
        pytest.param({"X-GitHub-Event": "push", "X-Hub-Signature": "sha1=aa"}, 401, id="sha1 only"),
        pytest.param({"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": "wrong"}, 401, id="gitlab"),
        pytest.param({"X-Gitea-Event": "push", "X-Gitea-Signature": "00"}, 401, id="gitea"),
    ],
)
async def test_what_is_not_signed_is_refused(
    agent: Agent, headers: Mapping[str, str], status: int
) -> None:
    assert await _post(agent, b'{"repository": {}}', headers) == status


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"{", b'{"repository": []}', b'{"repository": {"clone_url": 1}}']
)
async def test_what_is_signed_and_malformed_is_a_bad_request(agent: Agent, body: bytes) -> None:
    assert await _post(agent, body, _github(body)) == 400


async def test_every_sender_is_understood_and_a_repeated_delivery_is_not_acted_upon(
    agent: Agent, repository: Repository
) -> None:
    body = json.dumps({"repository": {"clone_url": repository.url}}).encode()
    gitlab = json.dumps({"project": {"git_http_url": repository.url}}).encode()

    assert await _post(agent, body, _github(body, **{"X-GitHub-Delivery": "1"})) == 202
    assert await _post(agent, body, _github(body, **{"X-GitHub-Delivery": "1"})) == 200
    gitea = {"X-Gitea-Event": "push", "X-Gitea-Signature": _sign(body), "X-GitHub-Event": "push"}
    assert await _post(agent, body, gitea) == 202
    token = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": WEBHOOK_SECRET}
    assert await _post(agent, gitlab, token) == 202
    assert await _post(agent, body, _github(body, **{"X-GitHub-Event": "ping"})) == 200


async def test_a_body_that_is_too_large_is_refused_unread(agent: Agent) -> None:
    body = b"x" * (1024 * 1024 + 1)

    assert await _post(agent, body, _github(body)) == 413


async def _requests_at_rest(agent: Agent) -> float:
    """Wait until no look at the repository follows from what was done before."""
    async with asyncio.timeout(20):
        while True:
            before = _requests(agent)
            await asyncio.sleep(1)
            if _requests(agent) == before:
                return before


def _requests(agent: Agent) -> float:
    return sum(
        sample.value
        for family in agent._instruments.registry.collect()
        for sample in family.samples
        if sample.name == "levelset_gitops_git_requests_total"
    )
