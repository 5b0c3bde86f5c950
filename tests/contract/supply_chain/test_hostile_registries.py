"""Registries that are down, slow, or lie: always a denial with the reason, never an admission."""

import asyncio
import json
import time

import orjson
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec

from tests.contract.supply_chain import registries
from tests.contract.supply_chain.harness import Json, Lab, Pushed, deployment, pod
from tests.contract.supply_chain.registries import INDEX, Served, json_answer
from tests.unit.supply_chain import private_sigstore as sigstore

pytestmark = pytest.mark.contract

KEY = ec.generate_private_key(ec.SECP256R1())
OWN_KEY: Json = {
    "name": "own-key",
    "key": {"data": sigstore.public_pem(KEY)},
    "transparencyLog": "Ignored",
}
BUNDLE_TAG = "sha256-"


@pytest.fixture(scope="module", autouse=True)
def _policies(lab: Lab) -> None:
    for port in lab.spare_ports:
        lab.policy(f"127.0.0.1:{port}/**", OWN_KEY)


@pytest.fixture
def signed(lab: Lab) -> Pushed:
    """An image in the real registry with a signature by OWN_KEY."""
    image = lab.push()
    bundle = sigstore.key_bundle(KEY, sigstore.statement(image.digest))
    registries.attach(image, sigstore.raw(bundle))
    return image


@pytest.fixture
def namespace(lab: Lab) -> str:
    return lab.namespace()


def test_the_referrers_api_is_used_where_there_is_one(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    with Served(lab.spare_ports[0], registries.with_referrers_api(lab.registry.address)) as proxy:
        image = signed.at(proxy.host)

        assert lab.refused(pod(namespace, image.by_tag)) == ""
        assert any("/referrers/sha256:" in path for path, _ in proxy.requests)
        assert not any(f"/manifests/{BUNDLE_TAG}" in path for path, _ in proxy.requests)


def test_a_verified_digest_needs_no_registry_again(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    with Served(lab.spare_ports[0], registries.with_referrers_api(lab.registry.address)) as proxy:
        image = signed.at(proxy.host)
        assert lab.refused(pod(namespace, image.by_digest)) == ""

    assert lab.refused(pod(namespace, image.by_digest)) == ""


def test_a_registry_that_is_down_is_named_in_the_denial_and_asked_again_at_once(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    image = signed.at(f"127.0.0.1:{lab.spare_ports[1]}")

    refusal = lab.refused(pod(namespace, image.by_digest))

    assert f"registry {image.host} is unreachable" in refusal
    assert "denied by ClusterImagePolicy/" in refusal
    with Served(lab.spare_ports[1], registries.with_referrers_api(lab.registry.address)):
        assert lab.refused(pod(namespace, image.by_digest)) == ""


@pytest.mark.parametrize("where", ["first byte", "body"])
def test_a_slow_registry_is_a_denial_inside_the_deadline(
    lab: Lab, signed: Pushed, namespace: str, where: str
) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        if where == "body":
            response = web.StreamResponse()
            await response.prepare(request)
            while True:
                await response.write(b" ")
                await asyncio.sleep(0.2)
        await asyncio.sleep(60)
        return web.Response()

    with Served(lab.spare_ports[0], slow) as server:
        began = time.monotonic()
        refusal = lab.refused(pod(namespace, signed.at(server.host).by_tag))
        seconds = time.monotonic() - began

    assert f"registry {server.host} did not answer within 5 s" in refusal
    assert seconds < 8.5


def test_what_changes_no_image_passes_while_the_registry_is_down(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    with Served(lab.spare_ports[2], registries.with_referrers_api(lab.registry.address)) as proxy:
        image = signed.at(proxy.host)
        lab.apply(pod(namespace, image.by_tag, name="web"))
        lab.apply(deployment(namespace, image.by_tag, replicas=3))

    lab.kubectl("label", "pod", "web", "a=b", "-n", namespace)
    lab.kubectl("scale", "deployment", "web", "--replicas=1", "-n", namespace)
    patch = json.dumps({"spec": {"replicas": 0, "minReadySeconds": 5}})
    lab.kubectl("patch", "deployment", "web", "-p", patch, "-n", namespace)
    lab.kubectl("delete", "pod", "web", "-n", namespace, "--wait=false")
    lab.kubectl("delete", "deployment", "web", "-n", namespace, "--wait=false")


def manifest_of(size: int) -> bytes:
    return b'{"schemaVersion":2,"pad":"' + b"x" * size + b'"}'


async def huge(request: web.Request) -> web.StreamResponse:
    return json_answer(manifest_of(5 * 1024 * 1024))


async def no_json(request: web.Request) -> web.StreamResponse:
    return web.Response(body=b"<html>", content_type="text/html")


async def broken(request: web.Request) -> web.StreamResponse:
    return web.Response(status=500)


async def forbidden(request: web.Request) -> web.StreamResponse:
    return web.Response(status=403)


async def unknown(request: web.Request) -> web.StreamResponse:
    return web.Response(status=404)


async def endless_pages(request: web.Request) -> web.StreamResponse:
    if "/referrers/" not in request.path:
        return json_answer(manifest_of(1))
    answer = json_answer({"schemaVersion": 2, "manifests": []}, INDEX)
    answer.headers["Link"] = f'<{request.path}?page={time.monotonic_ns()}>; rel="next"'
    return answer


async def too_many(request: web.Request) -> web.StreamResponse:
    entry = {"mediaType": registries.MANIFEST, "digest": "sha256:" + "0" * 64, "size": 1}
    return json_answer({"schemaVersion": 2, "manifests": [entry] * 300}, INDEX)


async def too_many_that_are_none(request: web.Request) -> web.StreamResponse:
    return json_answer({"schemaVersion": 2, "manifests": [{}] * 300}, INDEX)


async def page_elsewhere(request: web.Request) -> web.StreamResponse:
    answer = json_answer({"schemaVersion": 2, "manifests": []}, INDEX)
    answer.headers["Link"] = '<http://127.0.0.1:1/v2/x>; rel="next"'
    return answer


async def redirect_loop(request: web.Request) -> web.StreamResponse:
    return web.Response(status=307, headers={"Location": request.path})


async def redirect_to_plain_http(request: web.Request) -> web.StreamResponse:
    return web.Response(status=307, headers={"Location": "http://127.0.0.1:1/elsewhere"})


@pytest.mark.parametrize(
    ("handler", "expected"),
    [
        (huge, "sends more than 4194304 bytes"),
        (no_json, "is not JSON"),
        (broken, "answered HTTP 500"),
        (forbidden, "check the pod's imagePullSecrets"),
        (endless_pages, "too many referrers"),
        (too_many, "too many referrers"),
        (too_many_that_are_none, "too many referrers"),
        (page_elsewhere, "next page of referrers is on another host"),
        (redirect_loop, "redirects more than 3 times"),
        (redirect_to_plain_http, "redirects to http://127.0.0.1"),
    ],
)
def test_an_answer_that_breaks_the_rules_is_a_denial(
    lab: Lab, namespace: str, handler: registries.Handler, expected: str
) -> None:
    with Served(lab.spare_ports[0], handler) as server:
        image = Pushed(server.host, "team/app", "1", "sha256:" + "12" * 32)

        assert expected in lab.refused(pod(namespace, image.by_digest))


def test_a_tag_that_does_not_exist_is_said_so(lab: Lab, namespace: str) -> None:
    with Served(lab.spare_ports[0], unknown) as server:
        image = Pushed(server.host, "team/app", "1", "")

        assert f"registry {server.host} has no team/app:1" in lab.refused(
            pod(namespace, image.by_tag)
        )


def test_bytes_that_are_not_what_their_digest_says_are_refused(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    """A registry that can choose the digest could run anything."""
    good = registries.with_referrers_api(lab.registry.address)

    async def lying(request: web.Request) -> web.StreamResponse:
        answer = await good(request)
        if "/blobs/" in request.path:
            other = sigstore.key_bundle(KEY, sigstore.statement("sha256:" + "12" * 32))
            return web.Response(body=sigstore.raw(other)[: len(await _body(answer))])
        return answer

    with Served(lab.spare_ports[0], lying) as server:
        refusal = lab.refused(pod(namespace, signed.at(server.host).by_digest))

    assert "the bytes of the blob sha256:" in refusal


async def _body(answer: web.StreamResponse) -> bytes:
    assert isinstance(answer, web.Response)
    assert isinstance(answer.body, bytes)
    return answer.body


def test_the_digest_is_of_the_bytes_and_not_what_a_header_claims(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    evil = orjson.dumps({"schemaVersion": 2, "evil": True})
    good = registries.with_referrers_api(lab.registry.address)

    async def lying(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/manifests/1"):
            answer = json_answer(evil)
            answer.headers["Docker-Content-Digest"] = signed.digest
            return answer
        return await good(request)

    with Served(lab.spare_ports[0], lying) as server:
        refusal = lab.refused(pod(namespace, signed.at(server.host).by_tag))

    assert f"({registries.sha256(evil)})" in refusal
    assert "it is not signed" in refusal


def test_pull_secrets_are_used_and_stay_with_their_host(
    lab: Lab, signed: Pushed, namespace: str
) -> None:
    """The registry asks for a login, then redirects a blob to a host of its choice."""
    good = registries.with_referrers_api(lab.registry.address)
    basic = "Basic dXNlcjpwYXNzd29yZA=="

    async def login(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != basic:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="x"'})
        return await good(request)

    async def token_thief(request: web.Request) -> web.StreamResponse:
        realm = f"http://127.0.0.1:{lab.spare_ports[1]}/token"
        challenge = f'Bearer realm="{realm}",service="x"'
        return web.Response(status=401, headers={"WWW-Authenticate": challenge})

    host = f"127.0.0.1:{lab.spare_ports[0]}"
    config = {"auths": {host: {"username": "user", "password": "password"}}}
    lab.kubectl(
        *("create", "secret", "generic", "pull", "-n", namespace),
        "--type=kubernetes.io/dockerconfigjson",
        f"--from-literal=.dockerconfigjson={json.dumps(config)}",
    )
    pull = [{"name": "pull"}]
    with Served(lab.spare_ports[0], login) as server:
        image = signed.at(server.host)
        anonymous = lab.refused(pod(namespace, image.by_digest))
        allowed = lab.refused(pod(namespace, image.by_digest, imagePullSecrets=pull))
        after = lab.refused(pod(namespace, image.by_digest))

    other = lab.push()
    with Served(lab.spare_ports[1], broken) as thief, Served(lab.spare_ports[0], token_thief):
        stolen = lab.refused(pod(namespace, other.at(host).by_digest, imagePullSecrets=pull))

    assert "without credentials" in anonymous
    assert allowed == ""
    assert "without credentials" in after, "a tenant must not profit from another's login"
    assert "sends us to http://127.0.0.1" in stolen
    assert thief.requests == []
