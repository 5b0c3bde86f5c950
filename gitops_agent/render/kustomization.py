"""What a kustomization needs of the repository, found before kustomize runs; pure but for the reader.

kustomize itself would clone or download whatever looks like a URL. So the directories that it will read
are worked out here, every entry must exist in the commit, and nothing may look like a remote.
The set of directories is also the key of the render cache: a commit that touches none of them
renders the same.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from gitops_agent.errors import LimitExceeded, RenderFailed
from gitops_agent.render.strict_yaml import load_documents
from gitops_agent.source.tree import Entry, Tree
from kube_runtime.resource import Json

FILE_NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")

_FOLLOWED: Final = ("resources", "bases", "components")
_FILES_OR_INLINE: Final = ("generators", "transformers", "validators", "patchesStrategicMerge")
_FILES: Final = ("crds", "configurations")
_WITH_PATH: Final = ("patches", "patchesJson6902", "replacements")
_GENERATORS: Final = ("configMapGenerator", "secretGenerator")
_REFUSED: Final = ("helmCharts", "helmChartInflationGenerator", "helmGlobals")
_REMOTE: Final = re.compile(
    r"://|::|^[\w.-]+@|\?|^(?:gh:|github\.com)|^[\w.-]+:[^/=]", re.IGNORECASE
)
_MAX_DIRECTORIES: Final = 500

Read = Callable[[Entry], bytes]


@dataclass(frozen=True, slots=True)
class KustomizeOptions:
    """spec.source.kustomize, as Argo CD names it."""

    name_prefix: str = ""
    name_suffix: str = ""
    namespace: str = ""
    images: tuple[str, ...] = ()
    common_labels: tuple[tuple[str, str], ...] = ()
    common_annotations: tuple[tuple[str, str], ...] = ()
    replicas: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class _Walk:
    tree: Tree
    read: Read
    directories: list[str] = field(default_factory=list)


def kustomization_at(tree: Tree, directory: str) -> str | None:
    """Return the path of the directory's kustomization file, or None."""
    paths = (posixpath.join(directory, name) for name in FILE_NAMES)
    return next((path for path in paths if tree.file(path) is not None), None)


def directories_read(tree: Tree, path: str, read: Read) -> tuple[str, ...]:
    """Return every directory that building this path reads; raises RenderFailed on anything remote."""
    walk = _Walk(tree, read)
    _visit(walk, path)
    return tuple(sorted(walk.directories))


def wrapper(options: KustomizeOptions, base: str) -> Json:
    """Return a kustomization that puts the options around a base."""
    content: Json = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [base],
        "namePrefix": options.name_prefix,
        "nameSuffix": options.name_suffix,
        "namespace": options.namespace,
        "images": [_image(text) for text in options.images],
        "commonAnnotations": dict(options.common_annotations),
        "replicas": [{"name": name, "count": count} for name, count in options.replicas],
    }
    if options.common_labels:
        content["labels"] = [{"pairs": dict(options.common_labels), "includeSelectors": True}]
    return {name: value for name, value in content.items() if value}


def _visit(walk: _Walk, directory: str) -> None:
    if directory in walk.directories:
        return
    walk.directories.append(directory)
    if len(walk.directories) > _MAX_DIRECTORIES:
        raise LimitExceeded(f"kustomization: more than {_MAX_DIRECTORIES} directories")
    path = kustomization_at(walk.tree, directory)
    if path is None:
        shown = directory or "."
        raise RenderFailed(f"{shown}: expected one of {', '.join(FILE_NAMES)}, found none")
    for content in _contents(walk, path):
        _check_files(path, content)
        for entry in _entries(path, content):
            _follow(walk, path, entry)


def _contents(walk: _Walk, path: str) -> Iterator[Json]:
    entry = walk.tree.file(path)
    if entry is None:
        raise RenderFailed(f"{path}: not in the repository")
    for content in load_documents(walk.read(entry), source=path):
        if not isinstance(content, dict):
            raise RenderFailed(f"{path}: expected a mapping")
        yield content


def _entries(path: str, content: Json) -> Iterator[str]:
    for name in _FOLLOWED:
        for value in _list(path, content, name):
            if not isinstance(value, str):
                raise RenderFailed(f"{path}: {name}: expected paths")
            yield value
    for name in _FILES_OR_INLINE:
        for value in _list(path, content, name):
            if isinstance(value, str) and "\n" not in value:
                yield value


def _follow(walk: _Walk, path: str, entry: str) -> None:
    _refuse_remote(path, entry)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), entry))
    if target.startswith(("/", "../")) or target == "..":
        raise RenderFailed(f"{path}: {entry!r} leads out of the repository")
    target = "" if target == "." else target
    if walk.tree.is_directory(target):
        _visit(walk, target)
    elif walk.tree.file(target) is None:
        raise RenderFailed(f"{path}: {entry!r} is not in the repository; remote bases are refused")


def _check_files(path: str, content: Json) -> None:
    """Look at every field whose value kustomize would load, as it would download a URL."""
    for name in _REFUSED:
        if name in content:
            raise RenderFailed(f"{path}: {name} is not supported")
    for value in _loaded(path, content):
        if isinstance(value, str) and "\n" not in value:
            _refuse_remote(path, value.partition("=")[2] or value)


def _loaded(path: str, content: Json) -> Iterator[Any]:
    for name in _FILES:
        yield from _list(path, content, name)
    for name in _WITH_PATH:
        for item in _list(path, content, name):
            yield item.get("path") if isinstance(item, dict) else None
    for name in _GENERATORS:
        for item in _list(path, content, name):
            generator = item if isinstance(item, dict) else {}
            yield generator.get("env")
            yield from _list(path, generator, "files")
            yield from _list(path, generator, "envs")
    openapi = content.get("openapi")
    yield openapi.get("path") if isinstance(openapi, dict) else None


def _refuse_remote(path: str, value: str) -> None:
    if _REMOTE.search(value) or value.startswith("/"):
        raise RenderFailed(
            f"{path}: {value.partition('?')[0]!r} is remote or absolute; "
            "everything must be in the repository"
        )


def _list(path: str, content: Json, name: str) -> list[Any]:
    value = content.get(name) or []
    if not isinstance(value, list):
        raise RenderFailed(f"{path}: {name}: expected a list")
    return value


def _image(text: str) -> Json:
    """Read [name=]newName[:newTag][@digest], the form of `kustomize edit set image`."""
    name, found, new = text.partition("=")
    new = new if found else name
    new, _, digest = new.partition("@")
    head, slash, last = new.rpartition("/")
    last, _, tag = last.partition(":")
    new_name = f"{head}{slash}{last}"
    old_name = name if found else new_name
    image = {"name": old_name, "newName": new_name, "newTag": tag, "digest": digest}
    return {key: value for key, value in image.items() if value}
