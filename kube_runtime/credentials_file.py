"""Reads kubeconfig files, merges them like kubectl, and picks one context.

What kubernetes.aio says about a broken file names neither the file nor the next step, and can
print a user's token; so the structure is checked here first.
Paths in the result are absolute; no value of a user ever enters a message.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import yaml

from kube_runtime.errors import BadKubeconfig
from kube_runtime.resource import Json

_CLUSTER_PATHS: Final = ("certificate-authority",)
_USER_PATHS: Final = ("client-certificate", "client-key", "tokenFile")


@dataclass(frozen=True, slots=True)
class Chosen:
    """One context with its cluster and user, and the files that they came from."""

    source: str
    context: str
    namespace: str
    cluster: Json
    user: Json


def choose(files: Sequence[Path], context: str | None = None) -> Chosen:
    """Read the files and pick the context, or current-context; raise BadKubeconfig."""
    source = ":".join(str(file) for file in files)
    documents = [(file, _read(file)) for file in files if file.exists()]
    if not documents:
        raise BadKubeconfig(
            f"kubeconfig {source}: expected a file, found none; "
            "pass --kubeconfig, set KUBECONFIG or create it"
        )
    name = context or _current_context(source, documents)
    entry = _named(source, documents, "contexts", name)["context"]
    cluster = _cluster(source, documents, name, entry)
    user = _user(source, documents, name, entry)
    return Chosen(source, name, str(entry.get("namespace") or "default"), cluster, user)


def _read(file: Path) -> Json:
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadKubeconfig(
            f"kubeconfig {file}: expected a readable file, found: {error.strerror}; "
            "check its owner and mode"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # The parser quotes the line, which may hold a token: only the place is told.
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark is not None else ""
        raise BadKubeconfig(
            f"kubeconfig {file}: expected YAML, found what does not parse{where}; fix the file"
        ) from None
    if not isinstance(document, dict):
        raise BadKubeconfig(
            f"kubeconfig {file}: expected a mapping with clusters, contexts and users, "
            f"found {'nothing' if document is None else type(document).__name__}; fix the file"
        )
    return document


def _current_context(source: str, documents: Sequence[tuple[Path, Json]]) -> str:
    for _, document in documents:
        if document.get("current-context"):
            return str(document["current-context"])
    names = _names(documents, "contexts")
    raise BadKubeconfig(
        f"kubeconfig {source}: expected current-context, found none; "
        f"pass --context with one of: {names}"
    )


def _cluster(
    source: str, documents: Sequence[tuple[Path, Json]], context: str, entry: Mapping[str, Any]
) -> Json:
    name = entry.get("cluster")
    if not name:
        raise BadKubeconfig(
            f"kubeconfig {source}: expected a cluster in context {context!r}, found none; "
            "add the cluster's name to the context"
        )
    cluster: Json = _named(source, documents, "clusters", str(name), _CLUSTER_PATHS)["cluster"]
    server = urlsplit(str(cluster.get("server") or ""))
    if server.scheme not in {"http", "https"} or not server.hostname:
        raise BadKubeconfig(
            f"kubeconfig {source}: expected an http(s) URL as server of cluster {name!r}, "
            f"found {cluster.get('server')!r}; correct it"
        )
    return cluster


def _user(
    source: str, documents: Sequence[tuple[Path, Json]], context: str, entry: Mapping[str, Any]
) -> Json:
    name = entry.get("user")
    if not name:  # an anonymous user, as with `kubectl proxy`
        return {}
    user: Json = _named(source, documents, "users", str(name), _USER_PATHS)["user"]
    for field in _USER_PATHS:
        if field in user and not Path(user[field]).is_file():
            raise BadKubeconfig(
                f"kubeconfig {source}: expected the {field} of user {name!r} "
                f"(context {context!r}) at {user[field]}, found no such file; "
                "create it or correct the path"
            )
    return user


def _named(
    source: str,
    documents: Sequence[tuple[Path, Json]],
    section: str,
    name: str,
    paths: Sequence[str] = (),
) -> Json:
    """Find an entry of a section by name; the first file that has it wins, as with kubectl."""
    kind = section.removesuffix("s")
    for file, item in _entries(documents, section):
        if item.get("name") == name and isinstance(item.get(kind) or {}, dict):
            return {kind: _absolute(item.get(kind) or {}, file.parent, paths)}
    raise BadKubeconfig(
        f"kubeconfig {source}: expected {kind} {name!r}, "
        f"found only: {_names(documents, section)}; correct the name or add it"
    )


def _absolute(values: Json, folder: Path, paths: Sequence[str]) -> Json:
    """Resolve relative paths against the folder of their file, not the working directory."""
    result = dict(values)
    for field in paths:
        if result.get(field):
            result[field] = str((folder / str(result[field])).absolute())
    command = (result.get("exec") or {}).get("command", "")
    if "/" in command:
        result["exec"] = {**result["exec"], "command": str((folder / command).absolute())}
    return result


def _entries(documents: Sequence[tuple[Path, Json]], section: str) -> Iterator[tuple[Path, Json]]:
    for file, document in documents:
        for item in document.get(section) or ():
            if isinstance(item, dict):
                yield file, item


def _names(documents: Sequence[tuple[Path, Json]], section: str) -> str:
    return ", ".join(str(item.get("name")) for _, item in _entries(documents, section)) or "none"
