"""What a PodSet knows of its configuration: which source it read under which name.

Kept as an annotation of the PodSet. It holds names and nothing that was made from a value: a copy
is named after the version of its source, so not even a short secret can be guessed from it. Pure.
"""

import hashlib
from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias, get_args

import orjson

from kube_runtime.resource import Json, Uid
from workloads import names
from workloads.podset.resources import PodSet
from workloads.rollout.config.references import Source, SourceKind

ABSENT: Final = ""
"""There was no such object when the revision was made."""
AS_IS: Final = "="
"""Used under its own name for good: a copy that the user names, or a token that must not be copied."""

Record: TypeAlias = Mapping[Source, str]

_VERSION: Final = "1"
_HASH_CHARS: Final = 10
_MAX_NAME_CHARS: Final = 253
_MAX_RECORD_CHARS: Final = 200_000


class Version(NamedTuple):
    """One state of one object, as the API server tells them apart."""

    uid: str
    resource_version: str


def record_of(podset: PodSet) -> Record:
    """Read the record of a PodSet; what anybody may have written into it reads as nothing known."""
    text = podset.annotations.get(names.CONFIG, "")
    if not text or len(text) > _MAX_RECORD_CHARS:
        return {}
    try:
        raw = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    entries = raw.items() if isinstance(raw, dict) else ()
    parsed = ((_source(key), value) for key, value in entries)
    return {source: value for source, value in parsed if source and isinstance(value, str)}


def to_text(record: Record) -> str:
    """Write the record, the same for every order of its entries."""
    raw = {str(source): value for source, value in record.items()}
    return orjson.dumps(raw, option=orjson.OPT_SORT_KEYS).decode()


def copies_in(record: Record) -> dict[Source, str]:
    """Return those sources that are read from a copy, with its name."""
    return {source: name for source, name in record.items() if name not in {ABSENT, AS_IS}}


def id_of(record: Record) -> str:
    """Name the configuration of a revision: a hash of names, "" when nothing is recorded."""
    if not record:
        return ""
    return hashlib.sha256(to_text(record).encode()).hexdigest()[:_HASH_CHARS]


def copy_name(rollout_uid: Uid, source: Source, version: Version) -> str:
    """Name the copy of this version of a source: every try to make it takes the same name."""
    words = "\n".join((_VERSION, rollout_uid, source.kind, *version))
    suffix = hashlib.sha256(words.encode()).hexdigest()[:_HASH_CHARS]
    stem = source.name[: _MAX_NAME_CHARS - _HASH_CHARS - 1].rstrip("-.")
    return f"{stem}-{suffix}"


def version_of(obj: Json) -> Version:
    """Read which state of the object this is."""
    metadata = obj["metadata"]
    return Version(metadata.get("uid", ""), metadata.get("resourceVersion", ""))


def _source(text: str) -> Source | None:
    kind, slash, name = text.partition("/")
    known: tuple[SourceKind, ...] = get_args(SourceKind)
    return next((Source(each, name) for each in known if each == kind and slash), None)
