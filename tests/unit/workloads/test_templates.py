"""Pod templates: equality, hash and names."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_runtime.resource import Json
from workloads import naming, templates

TEMPLATE: Json = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
}


def test_the_hash_is_the_same_in_every_version_of_ours() -> None:
    assert templates.hash_of(TEMPLATE, 0) == "2nwmjzsm5s"


def test_the_order_of_keys_does_not_change_the_hash() -> None:
    reordered = {"spec": TEMPLATE["spec"], "metadata": TEMPLATE["metadata"]}

    assert templates.hash_of(reordered, 0) == templates.hash_of(TEMPLATE, 0)


def test_a_collision_changes_the_hash() -> None:
    assert templates.hash_of(TEMPLATE, 1) != templates.hash_of(TEMPLATE, 0)


def test_a_template_equals_itself_with_its_hash_label() -> None:
    labelled = templates.with_hash(TEMPLATE, "abc")

    assert labelled["metadata"]["labels"] == {"app": "web", "pod-template-hash": "abc"}
    assert templates.are_equal(labelled, TEMPLATE)
    assert templates.without_hash(labelled) == TEMPLATE
    assert templates.hash_of(labelled, 0) == templates.hash_of(TEMPLATE, 0)


def test_labelling_leaves_the_users_template_alone() -> None:
    before = repr(TEMPLATE)

    templates.with_hash(TEMPLATE, "abc")["spec"]["containers"].append({})

    assert repr(TEMPLATE) == before


def test_another_image_is_another_template() -> None:
    other = {**TEMPLATE, "spec": {"containers": [{"name": "web", "image": "web:2"}]}}

    assert not templates.are_equal(other, TEMPLATE)


def test_the_selector_is_narrowed_and_keeps_its_expressions() -> None:
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x"}]}

    assert templates.selector_with_hash(selector, "abc") == {
        "matchLabels": {"app": "web", "pod-template-hash": "abc"},
        "matchExpressions": [{"key": "x"}],
    }


@pytest.mark.parametrize("name", ["web", "a" * 57, "a" * 56 + "-.-b", "a" * 253])
def test_a_pods_name_is_a_label_of_dns_whatever_the_owner_is_called(name: str) -> None:
    (pod,) = naming.pod_names(name, 1, taken=(), random_source=random.Random(1))

    assert len(pod) <= 63
    assert pod[:-6][-1] not in "-."
    assert pod[-6] == "-"


def test_a_revisions_pods_fit_too() -> None:
    podset = naming.podset_name("a" * 253, "0123456789")

    (pod,) = naming.pod_names(podset, 1, taken=(), random_source=random.Random(1))

    assert pod.startswith(podset)
    assert len(pod) <= 63


@given(st.integers(0, 300), st.integers())
def test_names_are_different_and_free(count: int, seed: int) -> None:
    taken = naming.pod_names("web", 50, taken=(), random_source=random.Random(seed))

    chosen = naming.pod_names("web", count, taken=taken, random_source=random.Random(seed))

    assert len(set(chosen)) == count
    assert not set(chosen) & set(taken)
