"""Writes docs/benchmarks.md when a bench run has ended: a table a bench, of its last run.

What it shows was measured by the run that is named; nothing in the page is written by hand but the
words around the tables.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
_WHERE = ("at", "cpus", "python")
_COLUMNS = "side_by_side"
_HEAD = """\
# Benchmarks

Written by `make bench`; each table is one bench's last run, and what it compares ran side by side in that run.
Figures are medians where a bench repeats itself; a ratio below 1 means that Levelset took less.
A bench fails when its floor does not hold.
"""


def render(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Render the page from what the benches recorded."""
    parts = [_HEAD]
    for name, figures in sorted(results.items()):
        where = f"{figures['at']}, {figures['cpus']} cores, Python {figures['python']}"
        plain = {
            key.replace("_", " "): _shown(value)
            for key, value in figures.items()
            if key not in (*_WHERE, _COLUMNS)
        }
        lines = [f"## {name[:1].upper()}{name[1:]}", "", where, ""]
        lines += _table(["figure", "value"], [list(row) for row in plain.items()])
        if _COLUMNS in figures:
            lines += ["", *_columns(figures[_COLUMNS])]
        parts.append("\n".join([*lines, ""]))
    return "\n".join(parts)


def _columns(side_by_side: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Lay those who did the same out beside each other, a figure a line."""
    figures = dict.fromkeys(figure for column in side_by_side.values() for figure in column)
    rows = [
        [figure, *(_shown(column.get(figure, "")) for column in side_by_side.values())]
        for figure in figures
    ]
    return _table(["figure", *side_by_side], rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    return [lines[0], "|" + "---|" * len(head), *lines[1:]]


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Put the page level with the recorded figures, if any bench ran."""
    results = ROOT / "build" / "benchmarks.json"
    if session.config.option.markexpr == "bench" and results.exists():
        PAGE.write_text(render(json.loads(results.read_text())))
