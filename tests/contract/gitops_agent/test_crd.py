"""What the API server itself refuses of an Application, and what it fills in."""

from typing import Any

import pytest

from gitops_agent.names import APPLICATIONS
from kube_runtime.api import ApiClient
from kube_runtime.errors import Invalid
from kube_runtime.resource import Json

pytestmark = pytest.mark.contract


def _application(namespace: str, **changes: Any) -> Json:
    source = {"repoURL": "https://git.example.com/team/app"} | changes.pop("source", {})
    destination = {"namespace": "shop"} | changes.pop("destination", {})
    return {
        "apiVersion": APPLICATIONS.api_version,
        "kind": APPLICATIONS.kind,
        "metadata": {"name": "app", "namespace": namespace},
        "spec": {"source": source, "destination": destination, **changes},
    }


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"source": {"repoURL": "file:///etc"}}, "expected https://"),
        ({"source": {"repoURL": "ext::sh -c id"}}, "expected https://"),
        ({"source": {"repoURL": "https://me:hunter22@git.example.com/x"}}, "holds a password"),
        ({"source": {"path": "/etc"}}, "relative to the repository"),
        ({"source": {"path": "a/../../b"}}, "lead out"),
        ({"source": {"targetRevision": "-x"}}, "targetRevision"),
        ({"source": {"targetRevision": "a b"}}, "targetRevision"),
        ({"source": {"directory": {}, "kustomize": {}}}, "not both"),
        ({"destination": {"server": "https://other.example.com"}}, "only this cluster"),
        ({"destination": {"name": "other"}}, "only this cluster"),
        ({"destination": {"namespace": "Not_Valid"}}, "namespace"),
        ({"syncPolicy": {"syncOptions": ["Replace=true"]}}, "syncOptions"),
        ({"syncPolicy": {"retry": {"backoff": {"duration": "soon"}}}}, "duration"),
    ],
)
async def test_what_cannot_be_meant_is_refused_with_its_field(
    api: ApiClient, crds: None, namespace: str, changes: dict[str, Any], word: str
) -> None:
    with pytest.raises(Invalid) as caught:
        await api.create(APPLICATIONS, _application(namespace, **changes), dry_run=True)

    assert word in caught.value.message
    assert "hunter22" not in caught.value.message


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.com/team/app.git",
        "http://127.0.0.1:8080/app",
        "ssh://git@git.example.com:2222/team/app.git",
        "git@git.example.com:team/app.git",
    ],
)
async def test_repositories_as_people_write_them_are_accepted(
    api: ApiClient, crds: None, namespace: str, url: str
) -> None:
    body = _application(namespace, source={"repoURL": url})

    created = await api.create(APPLICATIONS, body)

    assert created["spec"]["source"]["targetRevision"] == "HEAD"
    assert created["spec"]["source"]["path"] == "."
    assert created["status"]["observedGeneration"] == -1
    found = await api.list(
        APPLICATIONS, namespace=namespace, field_selector=f"spec.source.repoURL={url}"
    )
    assert len(found.items) == 1
