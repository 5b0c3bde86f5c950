"""docs/parity.md says of each behaviour which test shows it; those tests exist."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "parity.md").read_text()
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def rows() -> Iterator[list[str]]:
    """Read the rows of all tables, their heads left out."""
    for line in PAGE.splitlines():
        if line.startswith("| ") and "shown by" not in line:
            yield [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize("path", sorted({path for path, _ in NAMED.findall(PAGE)}))
def test_the_named_tests_exist(path: str) -> None:
    tree = ast.parse((ROOT / "tests" / path).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    present = {node.name for node in tree.body if isinstance(node, functions)}

    assert {test for file, test in NAMED.findall(PAGE) if file == path} <= present


def test_each_behaviour_has_a_test_or_the_reason_why_not() -> None:
    without = [
        row
        for row in rows()
        if not (NAMED.search(row[2]) or (row[2].startswith("none:") and row[3]))
    ]

    assert without == []
    assert len(list(rows())) > 100


def test_each_row_has_its_four_cells() -> None:
    assert [row for row in rows() if len(row) != 4] == []
