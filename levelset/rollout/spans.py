"""Spans of time: written for people, and read as kubectl takes them (30s, 1m30s). Pure."""

import argparse
import re
from typing import Final

_UNITS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_MOST_SECONDS: Final = 1e8


def span(seconds: float) -> str:
    """Write a span: 850 ms, 4.2 s, 42 s, 3 min 5 s, 2 h 4 min."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def seconds_of(text: str) -> float:
    """Read a span, for argparse: 30, 30s, 1m30s, 2h; 0 is none."""
    bare = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?", bare):
        return _bounded(float(bare), text)
    parts = _PART.findall(bare)
    if not parts or "".join(number + unit for number, unit in parts) != bare:
        raise argparse.ArgumentTypeError(f"expected a time such as 30s or 1m30s, found {text!r}")
    return _bounded(sum(float(number) * _UNITS[unit] for number, unit in parts), text)


def _bounded(seconds: float, text: str) -> float:
    if seconds > _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"expected at most {_MOST_SECONDS:g} s, found {text!r}")
    return seconds
