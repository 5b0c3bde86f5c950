"""Which ConfigMaps and Secrets a template refers to, and the same template with other names."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime.resource import Json
from workloads.rollout.config.references import Reference, Source, references_of, rewritten


def spec(**parts: Any) -> Json:
    return {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [], **parts}}


def container(**parts: Any) -> list[Json]:
    return [{"name": "web", "image": "web:1", **parts}]


PLACES: dict[str, tuple[Json, Source]] = {
    "configMap volume": (
        spec(volumes=[{"name": "v", "configMap": {"name": "a"}}]),
        Source("ConfigMap", "a"),
    ),
    "secret volume": (
        spec(volumes=[{"name": "v", "secret": {"secretName": "a"}}]),
        Source("Secret", "a"),
    ),
    "projected configMap": (
        spec(volumes=[{"name": "v", "projected": {"sources": [{"configMap": {"name": "a"}}]}}]),
        Source("ConfigMap", "a"),
    ),
    "projected secret": (
        spec(volumes=[{"name": "v", "projected": {"sources": [{"secret": {"name": "a"}}]}}]),
        Source("Secret", "a"),
    ),
    "env from a configMap's key": (
        spec(
            containers=container(
                env=[{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "k"}}}]
            )
        ),
        Source("ConfigMap", "a"),
    ),
    "env from a secret's key": (
        spec(
            initContainers=container(
                env=[{"name": "E", "valueFrom": {"secretKeyRef": {"name": "a", "key": "k"}}}]
            )
        ),
        Source("Secret", "a"),
    ),
    "all of a configMap as env": (
        spec(ephemeralContainers=container(envFrom=[{"configMapRef": {"name": "a"}}])),
        Source("ConfigMap", "a"),
    ),
    "all of a secret as env": (
        spec(containers=container(envFrom=[{"prefix": "P", "secretRef": {"name": "a"}}])),
        Source("Secret", "a"),
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_each_place_is_found_and_rewritten(place: str) -> None:
    template, source = PLACES[place]
    before = copy.deepcopy(template)

    found = references_of(template)
    changed = rewritten(template, {source: "b"})

    assert found == (Reference(source, is_optional=False),)
    assert references_of(changed) == (Reference(Source(source.kind, "b"), is_optional=False),)
    assert template == before


@pytest.mark.parametrize(
    "template",
    [
        spec(imagePullSecrets=[{"name": "a"}]),
        spec(serviceAccountName="a"),
        spec(volumes=[{"name": "v", "projected": {"sources": [{"serviceAccountToken": {}}]}}]),
        spec(volumes=[{"name": "v", "csi": {"nodePublishSecretRef": {"name": "a"}}}]),
        spec(volumes=[{"name": "v", "emptyDir": {}}]),
    ],
)
def test_what_no_program_reads_as_configuration_is_left_alone(template: Json) -> None:
    assert references_of(template) == ()


def test_a_source_is_optional_only_if_every_use_of_it_is() -> None:
    template = spec(
        containers=container(
            envFrom=[
                {"configMapRef": {"name": "a", "optional": True}},
                {"configMapRef": {"name": "b", "optional": True}},
            ]
        ),
        volumes=[{"name": "v", "configMap": {"name": "b"}}],
    )

    found = {each.source.name: each.is_optional for each in references_of(template)}

    assert found == {"a": True, "b": False}


def test_a_name_of_one_kind_is_not_taken_for_the_other() -> None:
    template = spec(
        containers=container(
            envFrom=[{"configMapRef": {"name": "a"}}, {"secretRef": {"name": "a"}}]
        )
    )

    changed = rewritten(template, {Source("Secret", "a"): "b"})

    assert [each.source for each in references_of(changed)] == [
        Source("ConfigMap", "a"),
        Source("Secret", "b"),
    ]


def test_nothing_to_rewrite_gives_the_template_itself() -> None:
    template, _ = PLACES["configMap volume"]

    assert rewritten(template, {Source("ConfigMap", "other"): "b"}) is template


_WORDS = (
    *("spec", "volumes", "containers", "env", "envFrom", "valueFrom", "name"),
    *("configMap", "secret", "secretName", "projected", "sources", "configMapRef"),
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_WORDS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(_JSON)
def test_no_shape_of_a_template_is_too_odd(anything: Any) -> None:
    template = {"spec": anything}

    for reference in references_of(template):
        changed = rewritten(template, {reference.source: "new"})
        assert reference.source not in {each.source for each in references_of(changed)}
