"""Pod templates: equality, hash, and the labels that select a revision.

A template is compared raw against raw: what the user wrote, without the hash label that we add.
Identity is equality, never the hash; the hash only makes names and labels, so it may change
between versions of ours without starting a rollout. Pure.
"""

import copy
import hashlib
from collections.abc import Mapping
from typing import Final

import orjson

from kube_runtime.resource import Json
from workloads import names

# No vowels, so that no word is ever spelled; no 0, 1 and 3, which look like letters.
_SAFE_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_HASH_CHARS: Final = 10
_HASH_VERSION: Final = b"1"


def without_hash(template: Json) -> Json:
    """Return the template as the user wrote it: without our hash label."""
    labels = _labels(template)
    if names.POD_TEMPLATE_HASH not in labels:
        return template
    kept = {key: value for key, value in labels.items() if key != names.POD_TEMPLATE_HASH}
    return {**template, "metadata": {**template["metadata"], "labels": kept}}


def with_hash(template: Json, hash_: str) -> Json:
    """Return a copy of the template that carries the hash label."""
    labelled = copy.deepcopy(template)
    metadata = labelled.setdefault("metadata", {})
    metadata["labels"] = {**(metadata.get("labels") or {}), names.POD_TEMPLATE_HASH: hash_}
    return labelled


def are_equal(left: Json, right: Json) -> bool:
    """Tell whether both would make the same pods."""
    return without_hash(left) == without_hash(right)


def differ_in_defaults_only(left: Json, right: Json) -> bool:
    """Tell whether one has everything that the other has, and perhaps more.

    So two readings of one template look when a CRD got a default in between.
    """
    left, right = without_hash(left), without_hash(right)
    return _extends(left, right) or _extends(right, left)


def hash_of(template: Json, collision_count: int) -> str:
    """Name the template: the same for every process and for every order of its keys."""
    body = orjson.dumps(without_hash(template), option=orjson.OPT_SORT_KEYS)
    digest = hashlib.sha256(b"%s\n%d\n%s" % (_HASH_VERSION, collision_count, body)).digest()
    return _encode(int.from_bytes(digest[:8], "big"))


def selector_with_hash(selector: Json, hash_: str) -> Json:
    """Narrow a selector to the pods of one revision."""
    match_labels = {**(selector.get("matchLabels") or {}), names.POD_TEMPLATE_HASH: hash_}
    return {**selector, "matchLabels": match_labels}


def _extends(larger: object, smaller: object) -> bool:
    if isinstance(larger, dict) and isinstance(smaller, dict):
        return all(key in larger and _extends(larger[key], smaller[key]) for key in smaller)
    if isinstance(larger, list) and isinstance(smaller, list):
        return len(larger) == len(smaller) and all(map(_extends, larger, smaller))
    return larger == smaller


def _labels(template: Json) -> Mapping[str, str]:
    return (template.get("metadata") or {}).get("labels") or {}


def _encode(number: int) -> str:
    chars = []
    for _ in range(_HASH_CHARS):
        number, digit = divmod(number, len(_SAFE_ALPHABET))
        chars.append(_SAFE_ALPHABET[digit])
    return "".join(chars)
