"""What a kustomization may read, which files a directory means, and which objects come out."""

from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitops_agent.errors import GitOpsError, InvalidSpec, LimitExceeded, RenderFailed, UnknownKind
from gitops_agent.objects import GroupKind, Redactor
from gitops_agent.render.directory import DirectoryOptions, is_selected
from gitops_agent.render.kustomization import KustomizeOptions, directories_read, wrapper
from gitops_agent.render.manifests import assemble, flatten
from gitops_agent.source.tree import Entry, Tree
from kube_runtime.resource import Json

# A loaded machine is no failure, and all unit tests together take seconds.
BRIEF = settings(max_examples=40, deadline=None)


def _read(files: dict[str, Any], path: str = "app") -> tuple[str, ...]:
    contents = {
        name: content if isinstance(content, bytes) else yaml.safe_dump(content).encode()
        for name, content in files.items()
    }
    tree = Tree({name: Entry("100644", name, 1) for name in contents}, {})
    return directories_read(tree, path, lambda entry: contents[entry.oid])


def test_every_directory_that_is_built_is_known_before_kustomize_runs() -> None:
    files = {
        "app/kustomization.yaml": {"resources": ["../base", "cm.yaml"], "components": ["../extra"]},
        "app/cm.yaml": {},
        "base/kustomization.yml": {"resources": ["deep"], "bases": ["../old"]},
        "base/deep/Kustomization": {"patches": [{"path": "p.yaml"}]},
        "old/kustomization.yaml": {"resources": ["../base/deep"]},
        "extra/kustomization.yaml": {"transformers": ["|\n  kind: X\n"]},
        "unrelated/kustomization.yaml": {"resources": ["https://example.com"]},
    }

    assert _read(files) == ("app", "base", "base/deep", "extra", "old")


@pytest.mark.parametrize(
    "content",
    [
        {"resources": ["https://example.com/x.yaml"]},
        {"resources": ["github.com/a/b"]},
        {"resources": ["git@example.com:a/b"]},
        {"resources": ["example.com:a/b"]},
        {"resources": ["gh:a/b"]},
        {"resources": ["git::x"]},
        {"resources": ["x?ref=main"]},
        {"resources": ["/etc"]},
        {"resources": ["../.."]},
        {"resources": ["missing"]},
        {"resources": [{"a": 1}]},
        {"resources": "x"},
        {"components": ["https://example.com/x"]},
        {"transformers": ["https://example.com/t.yaml"]},
        {"patchesStrategicMerge": ["https://example.com/p.yaml"]},
        {"patches": [{"path": "https://example.com/p.yaml"}]},
        {"configMapGenerator": [{"name": "x", "files": ["k=https://example.com/f"]}]},
        {"secretGenerator": [{"name": "x", "envs": ["https://example.com/f"]}]},
        {"secretGenerator": [{"name": "x", "env": "https://example.com/f"}]},
        {"openapi": {"path": "https://example.com/s.json"}},
        {"crds": ["https://example.com/crd.json"]},
        {"replacements": [{"path": "https://example.com/r.yaml"}]},
        {"helmCharts": []},
        {"helmGlobals": {}},
        b"- not\n- a mapping\n",
    ],
)
def test_whatever_would_be_fetched_or_run_is_refused(content: Any) -> None:
    with pytest.raises(RenderFailed):
        _read({"app/kustomization.yaml": content})


def test_a_directory_that_is_called_like_a_host_is_refused_all_the_same() -> None:
    files = {
        "app/kustomization.yaml": {"resources": ["github.com/a/b"]},
        "app/github.com/a/b/kustomization.yaml": {},
    }

    with pytest.raises(RenderFailed, match="remote"):
        _read(files)


@BRIEF
@given(st.text(max_size=20))
def test_no_entry_leads_to_anything_but_our_own_error(entry: str) -> None:
    data = orjson.dumps({"resources": [entry]})

    try:
        _read({"app/kustomization.yaml": data})
    except GitOpsError:
        return


def test_options_are_put_around_the_base() -> None:
    options = KustomizeOptions(
        name_prefix="a-",
        images=("web=registry.example:5000/web:2@sha256:ab", "x:1", "y@sha256:cd"),
        common_labels=(("a", "b"),),
        replicas=(("web", 3),),
    )

    assert wrapper(options, "../base") == {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["../base"],
        "namePrefix": "a-",
        "images": [
            {
                "name": "web",
                "newName": "registry.example:5000/web",
                "newTag": "2",
                "digest": "sha256:ab",
            },
            {"name": "x", "newName": "x", "newTag": "1"},
            {"name": "y", "newName": "y", "digest": "sha256:cd"},
        ],
        "replicas": [{"name": "web", "count": 3}],
        "labels": [{"pairs": {"a": "b"}, "includeSelectors": True}],
    }


@pytest.mark.parametrize(
    ("path", "options", "selected"),
    [
        ("a.yaml", DirectoryOptions(), True),
        ("a.json", DirectoryOptions(), True),
        ("README.md", DirectoryOptions(), False),
        (".hidden.yaml", DirectoryOptions(), False),
        ("deep/a.yaml", DirectoryOptions(), False),
        ("deep/a.yaml", DirectoryOptions(recurse=True), True),
        ("deep/a.yaml", DirectoryOptions(recurse=True, include="*.yaml"), True),
        ("a.yaml", DirectoryOptions(include="{b,c}.yaml"), False),
        ("c.yaml", DirectoryOptions(include="{b,c}.yaml"), True),
        ("c.yaml", DirectoryOptions(include="*", exclude="c.*"), False),
        ("c.yaml", DirectoryOptions(exclude="[ab].yaml"), True),
    ],
)
def test_the_files_of_a_directory_are_chosen_by_their_names(
    path: str, options: DirectoryOptions, *, selected: bool
) -> None:
    assert is_selected(path, options) is selected


def test_too_many_alternatives_are_refused() -> None:
    with pytest.raises(InvalidSpec):
        is_selected("a.yaml", DirectoryOptions(include="{a,b}" * 12))


def _object(name: str = "a", kind: str = "ConfigMap", **metadata: object) -> Json:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}}


def _assemble(*objects: Json) -> list[Any]:
    scopes: dict[str, bool] = {"ConfigMap": True, "Namespace": False}
    return list(
        assemble(
            [("f.yaml", obj) for obj in objects],
            namespace="default-ns",
            is_namespaced=lambda kind: scopes.get(kind.kind),
            redactor=Redactor(),
        )
    )


def test_more_objects_than_a_status_can_name_are_refused_in_time() -> None:
    one = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}

    with pytest.raises(LimitExceeded, match="at most 4000"):
        flatten([("f", {"apiVersion": "v1", "kind": "List", "items": [one] * 5_000})])


def test_lists_are_flattened_and_what_the_server_writes_is_left_out() -> None:
    inner = {"apiVersion": "v1", "kind": "List", "items": [_object("b", uid="x", labels=None)]}
    outer: Json = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [_object("a"), inner]}
    outer["items"][0]["status"] = {}

    found = flatten([("f", outer), ("g", {"apiVersion": "v1", "kind": "List", "items": None})])

    assert [obj for _, obj in found] == [_object("a"), _object("b")]


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ("text", "expected an object, found a text"),
        ([], "found a list"),
        ({"a": 1}, "expected apiVersion and kind"),
        ({"apiVersion": "v1", "kind": "List", "items": 5}, "expected a list"),
        ({"apiVersion": "v1", "kind": "X"}, "metadata.name"),
        ({"apiVersion": "v1", "kind": "X", "metadata": {"generateName": "x-"}}, "generateName"),
        (_object(labels={"a": 5}), "metadata.labels.a: expected a text"),
        (_object(annotations={"a": True}), "quote it"),
        (_object(labels=[]), "expected a mapping"),
    ],
)
def test_what_is_no_object_is_refused_with_its_file(value: Any, word: str) -> None:
    with pytest.raises(RenderFailed, match=r"^f\.yaml") as caught:
        flatten([("f.yaml", value)])

    assert word in str(caught.value)


def test_namespaces_are_filled_in_and_taken_away_by_scope() -> None:
    found = _assemble(
        _object("a"), _object("b", namespace="own"), _object("n", "Namespace", namespace="wrong")
    )

    assert [(m.id.name, m.id.namespace) for m in found] == [
        ("a", "default-ns"),
        ("b", "own"),
        ("n", ""),
    ]


def test_the_same_object_twice_is_an_error_also_through_the_default_namespace() -> None:
    with pytest.raises(RenderFailed, match="twice"):
        _assemble(_object("a"), _object("a", namespace="default-ns"))


def test_a_kind_that_is_not_served_is_known_only_by_its_own_crd() -> None:
    crd = _object("widgets.example.com", "CustomResourceDefinition") | {
        "apiVersion": "apiextensions.k8s.io/v1",
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Widget"}},
    }
    widget = _object("w", "Widget") | {"apiVersion": "example.com/v1"}
    with pytest.raises(UnknownKind, match="Widget"):
        _assemble(widget)

    found = assemble(
        [("f", widget), ("f", crd)],
        namespace="ns",
        is_namespaced=lambda kind: False if kind.kind == "CustomResourceDefinition" else None,
        redactor=Redactor(),
    )

    assert {m.id.group_kind: m.id.namespace for m in found}[
        GroupKind("example.com", "Widget")
    ] == "ns"
