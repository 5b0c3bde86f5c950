"""The difference between two objects: which paths, and how it is printed; pure.

Only views come in here (Secret values are hashes already), so what is printed may be shown to anyone
who may see the Application.
"""

import difflib
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import orjson
import yaml

from gitops_agent.objects import ObjectId
from kube_runtime.resource import Json

Action = Literal["create", "change", "prune"]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SERVER_METADATA: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)
_MAX_PATHS: Final = 20
# Looking for what two long texts have in common takes time by the product of their lengths, in
# the loop of all Applications: a list of 30 000 short texts that is shuffled, 4 s.
_MAX_PAIRS: Final = 25_000_000


@dataclass(frozen=True, slots=True)
class ObjectDiff:
    """How one object differs from Git; it differs if and only if `text` is not empty."""

    id: ObjectId
    action: Action
    text: str = field(default="", repr=False)
    paths: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.text)

    @property
    def digest(self) -> str:
        """The same for the same difference, to recognise one that comes back."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def compare(object_id: ObjectId, live: Json | None, wanted: Json | None) -> ObjectDiff:
    """Compare two views; None means that the object is not there, or is not to be."""
    before = comparable(live) if live is not None else None
    after = comparable(wanted) if wanted is not None else None
    if _canonical(before) == _canonical(after):
        return ObjectDiff(object_id, "change")
    action: Action = "create" if before is None else "prune" if after is None else "change"
    paths = tuple(_first(_changed(before or {}, after or {}, ""))) if action == "change" else ()
    return ObjectDiff(object_id, action, _printed(object_id, before, after), paths)


def comparable(obj: Json) -> Json:
    """Drop what only the server writes, and the empty maps that this leaves."""
    metadata = {
        name: value for name, value in obj["metadata"].items() if name not in _SERVER_METADATA
    }
    annotations = dict(metadata.pop("annotations", None) or {})
    annotations.pop(LAST_APPLIED, None)
    if annotations:
        metadata["annotations"] = annotations
    return {name: value for name, value in obj.items() if name != "status"} | {"metadata": metadata}


def _canonical(view: Json | None) -> bytes:
    return orjson.dumps(view, option=orjson.OPT_SORT_KEYS)


def _printed(object_id: ObjectId, before: Json | None, after: Json | None) -> str:
    text = "\n".join(
        _unified(_lines(before), _lines(after), f"live  {object_id}", f"git   {object_id}")
    )
    if not text:
        raise AssertionError(f"{object_id}: differs, but not in print")
    return text + "\n"


def _unified(before: list[str], after: list[str], live: str, git: str) -> Iterable[str]:
    """Print the difference; of very long texts as one block between what is the same around it."""
    if len(before) * len(after) <= _MAX_PAIRS:
        return difflib.unified_diff(before, after, live, git, lineterm="")
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    gone, come = before[head : len(before) - tail], after[head : len(after) - tail]
    where = f"@@ -{head + 1},{len(gone)} +{head + 1},{len(come)} @@"
    removed, added = (f"-{line}" for line in gone), (f"+{line}" for line in come)
    return (f"--- {live}", f"+++ {git}", where, *removed, *added)


def _common(one: list[str], other: list[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _lines(view: Json | None) -> list[str]:
    if view is None:
        return []
    dumped: str = yaml.dump(view, Dumper=_Dumper, sort_keys=True, allow_unicode=True, width=1000)
    return dumped.splitlines()


class _Dumper(yaml.CSafeDumper):
    """Prints without anchors: a value that is used twice is no news."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _first(paths: Iterator[str]) -> Iterator[str]:
    for count, path in enumerate(paths):
        if count == _MAX_PATHS:
            yield "…"
            return
        yield path


def _changed(before: Any, after: Any, path: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            if name not in before or name not in after:
                yield f"{path}.{name}"
            else:
                yield from _changed(before[name], after[name], f"{path}.{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _changed(one, other, f"{path}[{index}]")
    elif _canonical_value(before) != _canonical_value(after):
        yield path or "."


def _canonical_value(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
