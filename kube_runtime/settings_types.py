"""Turns one value of a flag, a variable or a YAML file into the type of a settings field.

Used by kube_runtime.settings alone. Text is read leniently where there is only text (flags and
environment), YAML values must have the right type already. Every failure is a ValueError that says
what was expected and what was found.
"""

import math
import re
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

_DURATION_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_UNIT_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_FALSE: Final = frozenset({"false", "no", "off", "0"})


def parse_value(raw: object, type_: Any, *, is_seconds: bool) -> object:
    """Read the value as this type; raises ValueError. is_seconds also allows "1h30m"."""
    optional, inner = split_optional(type_)
    if optional and raw in (None, ""):
        return None
    if typing.get_origin(inner) is tuple:
        return _parse_tuple(raw, typing.get_args(inner)[0], is_seconds=is_seconds)
    if typing.get_origin(inner) is Literal:
        return _parse_choice(raw, typing.get_args(inner))
    if is_seconds and isinstance(raw, str) and inner in (int, float):
        return inner(parse_duration(raw))
    parser = _PARSERS.get(inner)
    if parser is None:
        raise TypeError(f"settings cannot hold {type_!r}")  # the programmer's mistake
    return parser(raw)


def split_optional(type_: Any) -> tuple[bool, Any]:
    """Tell whether the type is `X | None`, and X."""
    if typing.get_origin(type_) not in {types.UnionType, typing.Union}:
        return False, type_
    inner = [arg for arg in typing.get_args(type_) if arg is not type(None)]
    if len(inner) != 1:
        raise TypeError(f"settings cannot hold {type_!r}")
    return True, inner[0]


def parse_duration(text: str) -> float:
    """Read "90", "1.5", "90s" or "1h30m" as seconds."""
    try:
        seconds = float(text)
    except ValueError:
        parts = _DURATION_PART.findall(text)
        if not parts or "".join(number + unit for number, unit in parts) != text:
            raise ValueError(
                f"expected seconds or a duration such as 90s or 1h30m, found {text!r}"
            ) from None
        seconds = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in parts)
    if not math.isfinite(seconds) or seconds < 0:
        raise ValueError(f"expected a duration of 0 or more, found {text!r}")
    return seconds


def metavar(type_: Any, *, is_seconds: bool) -> str:
    """Name the kind of value in the help."""
    _, inner = split_optional(type_)
    if typing.get_origin(inner) is Literal:
        return "|".join(str(choice) for choice in typing.get_args(inner))
    if typing.get_origin(inner) is tuple:
        return metavar(typing.get_args(inner)[0], is_seconds=is_seconds) + ",…"
    if is_seconds:
        return "DURATION"
    return {int: "N", float: "N", Path: "PATH"}.get(inner, "TEXT")


def _parse_tuple(raw: object, item_type: Any, *, is_seconds: bool) -> tuple[object, ...]:
    if isinstance(raw, str):
        items: list[object] = [item.strip() for item in raw.split(",") if item.strip()]
    elif isinstance(raw, list | tuple):
        items = list(raw)
    else:
        raise _unexpected("a list", raw)
    return tuple(parse_value(item, item_type, is_seconds=is_seconds) for item in items)


def _parse_choice(raw: object, choices: tuple[object, ...]) -> object:
    if raw in choices:
        return raw
    raise _unexpected("one of " + ", ".join(str(choice) for choice in choices), raw)


def _parse_bool(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.lower() in _TRUE | _FALSE:
        return raw.lower() in _TRUE
    raise _unexpected("true or false", raw)


def _parse_int(raw: object) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and re.fullmatch(r"[+-]?\d+", raw.strip()):
        return int(raw)
    raise _unexpected("a whole number", raw)


def _parse_float(raw: object) -> float:
    if isinstance(raw, int | float) and not isinstance(raw, bool) and math.isfinite(raw):
        return float(raw)
    if isinstance(raw, str):
        try:
            number = float(raw)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    raise _unexpected("a number", raw)


def _parse_str(raw: object) -> str:
    if isinstance(raw, str):
        return raw
    raise _unexpected("text", raw)


def _parse_path(raw: object) -> Path:
    if isinstance(raw, str) and raw:
        return Path(raw).expanduser()
    raise _unexpected("a path", raw)


def _unexpected(expected: str, raw: object) -> ValueError:
    return ValueError(f"expected {expected}, found {raw!r}")


_PARSERS: Final[dict[Any, Callable[[object], object]]] = {
    bool: _parse_bool,
    int: _parse_int,
    float: _parse_float,
    str: _parse_str,
    Path: _parse_path,
}
