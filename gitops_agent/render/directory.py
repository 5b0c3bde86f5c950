"""Plain manifests: which files of a directory are read, and their documents; pure.

include and exclude are shell patterns on the path below the source's path, `*` crosses slashes as it
does in Argo CD, and `{a,b}` means either.
"""

import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gitops_agent.errors import InvalidSpec
from gitops_agent.render.strict_yaml import load_documents

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_MAX_ALTERNATIVES: Final = 64
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class DirectoryOptions:
    """spec.source.directory."""

    recurse: bool = False
    include: str = ""
    exclude: str = ""


def is_selected(path: str, options: DirectoryOptions) -> bool:
    """Whether a file, by its path below the source's path, is a manifest to read."""
    if not path.endswith(_SUFFIXES) or path.rpartition("/")[2].startswith("."):
        return False
    if "/" in path and not options.recurse:
        return False
    if options.exclude and _matches(path, options.exclude):
        return False
    return not options.include or _matches(path, options.include)


def read_directory(files: Mapping[str, bytes]) -> Iterator[tuple[str, Any]]:
    """Yield (source, value) for each document of the files, in the order of their paths."""
    for path in sorted(files):
        for value in load_documents(files[path], source=path):
            yield path, value


def check_patterns(options: DirectoryOptions) -> None:
    """Refuse a pattern that cannot be used, before anything is read."""
    for field in ("include", "exclude"):
        _alternatives(getattr(options, field), field)


def _matches(path: str, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(path, one) for one in _alternatives(pattern, "include"))


def _alternatives(pattern: str, field: str) -> list[str]:
    done, todo = [], [re.sub(r"\*+", "*", pattern)]
    while todo:
        current = todo.pop()
        if matched := _BRACES.search(current):
            head, tail = current[: matched.start()], current[matched.end() :]
            todo += [head + choice.strip() + tail for choice in matched[1].split(",")]
        else:
            done.append(current)
        if len(done) + len(todo) > _MAX_ALTERNATIVES:
            raise InvalidSpec(
                f"spec.source.directory.{field}: more than {_MAX_ALTERNATIVES} alternatives"
            )
    return done
