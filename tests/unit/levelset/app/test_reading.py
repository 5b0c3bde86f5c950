"""An Application that is not there is told from a cluster that does not know the kind."""

from typing import cast

import pytest

from kube_runtime.api import ApiClient
from kube_runtime.errors import NotFound
from kube_runtime.required_crds import MissingCrd, WrongCrdVersion
from kube_runtime.resource import Json, Key, Resource
from levelset.app import reading
from levelset.app.errors import NoSuchApplication

SHOP = Key("shop", "web")
KIND = {"name": "applications", "kind": "Application"}


class Server:
    """An API server that has no Application, and serves these versions of the kind."""

    server = "https://cluster.example"

    def __init__(self, *versions: str) -> None:
        self._versions = versions

    async def get(self, resource: Resource, name: str, *, namespace: str) -> Json:
        raise NotFound(404, "NotFound", f"{namespace}/{name} of {resource}")

    async def request(self, method: str, path: str) -> Json:
        assert method == "GET"
        *_, last = path.split("/")
        if last == "levelset.dev" and self._versions:
            return {"versions": [{"version": version} for version in self._versions]}
        if last in self._versions:
            return {"resources": [KIND]}
        raise NotFound(404, "NotFound", path)


@pytest.mark.parametrize(
    ("versions", "error", "said"),
    [
        (["v1alpha1"], NoSuchApplication, "expected it in namespace 'shop', found none"),
        ([], MissingCrd, "expected version v1alpha1 to be served by https://cluster.example"),
        (["v2"], WrongCrdVersion, "found v2; install the CRDs of this release"),
    ],
)
async def test_what_is_not_found_is_told_apart(
    versions: list[str], error: type[Exception], said: str
) -> None:
    with pytest.raises(error) as caught:
        await reading.read(cast("ApiClient", Server(*versions)), SHOP)

    assert said in str(caught.value)
