"""Names of the objects that we make, chosen before the request that makes them.

A name that is known before the POST makes the POST repeatable: whatever happened to the first
try, the second one either makes the object or meets our own. Randomness is passed in. Pure.
"""

import hashlib
import random
from collections.abc import Collection
from typing import Final

# As in templates: no vowels, no digits that look like letters.
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_CHARS: Final = 5
_RETRY_CHARS: Final = 6
# A pod's name becomes its hostname; a label of DNS has 63 characters.
MAX_POD_NAME_CHARS: Final = 63
# A PodSet's pods are named after it, so it leaves them room for "-" and the suffix.
MAX_PODSET_NAME_CHARS: Final = MAX_POD_NAME_CHARS - _SUFFIX_CHARS - 1


def pod_names(
    owner_name: str, count: int, *, taken: Collection[str], random_source: random.Random
) -> tuple[str, ...]:
    """Choose so many different names "<owner>-<5 random>" that are not taken."""
    prefix = _cut(owner_name, MAX_PODSET_NAME_CHARS)
    chosen: dict[str, None] = {}
    while len(chosen) < count:
        suffix = "".join(random_source.choices(_ALPHABET, k=_SUFFIX_CHARS))
        name = f"{prefix}-{suffix}"
        if name not in taken:
            chosen[name] = None
    return tuple(chosen)


def podset_name(rollout_name: str, hash_: str) -> str:
    """Name the PodSet of a revision "<rollout>-<hash>"."""
    return f"{_cut(rollout_name, MAX_PODSET_NAME_CHARS - len(hash_) - 1)}-{hash_}"


def hook_job_name(podset_name: str, *, revision: int, index: int, retry: str) -> str:
    """Name the Job of a step: one for a revision and a step, and another one after a retry."""
    suffix = f"r{revision}-s{index}"
    if retry:
        suffix = f"{suffix}-{hashlib.sha256(retry.encode()).hexdigest()[:_RETRY_CHARS]}"
    return f"{_cut(podset_name, MAX_POD_NAME_CHARS - len(suffix) - 1)}-{suffix}"


def _cut(name: str, max_chars: int) -> str:
    """Shorten; a name may neither end in "-" nor "." before the dash that we add."""
    return name[:max_chars].rstrip("-.")
