"""JSON for hostile input: duplicate keys, deep nesting and NaN are errors.

Two readers that pick different values of a repeated key are how a signed text comes to mean
something else than what was verified.
"""

import json
from typing import Any, NoReturn

from supply_chain.errors import VerificationFailed


def loads(raw: bytes | str, *, what: str) -> dict[str, Any]:
    """Parse a JSON object; raises VerificationFailed (reason Malformed) naming `what`."""
    try:
        value = json.loads(raw, object_pairs_hook=_unique, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise VerificationFailed(
            f"{what} is not proper JSON: {error}", reason="Malformed"
        ) from error
    if not isinstance(value, dict):
        raise VerificationFailed(f"{what} is not a JSON object", reason="Malformed")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
