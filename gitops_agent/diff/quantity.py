"""Kubernetes quantities by value: 1000m, "1" and 1 are the same; pure."""

import re
from decimal import Decimal
from typing import Final

_FORM: Final = re.compile(
    r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?\d{1,3}))?"
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {f"{unit}i": Decimal(1024**power) for power, unit in enumerate("KMGTPE", 1)}
_MAX_LENGTH: Final = 64


def parse(value: object) -> Decimal | None:
    """Return the value of a quantity, or None where it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value)
    matched = _FORM.fullmatch(text) if len(text) <= _MAX_LENGTH else None
    if matched is None:
        return None
    number, suffix = Decimal(matched["number"]), matched["suffix"]
    if suffix in _BINARY:
        return number * _BINARY[suffix]
    exponent = _DECIMAL[suffix] if suffix else int(matched["exponent"] or 0)
    return number.scaleb(exponent)


def are_equal(one: object, other: object) -> bool:
    """Whether both are quantities of the same value."""
    first, second = parse(one), parse(other)
    return first is not None and first == second
