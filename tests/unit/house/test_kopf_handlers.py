"""Kopf runs plain functions in a pool of threads, where the queues of kube_runtime must not be touched."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
HANDLERS = sorted(
    path
    for part in ("operator/workloads", "gitops_agent", "supply_chain", "exporters")
    for path in (ROOT / part).glob("handlers.py")
)


@pytest.mark.parametrize("path", HANDLERS, ids=lambda path: path.parent.name)
def test_functions_inside_of_register_are_coroutines(path: Path) -> None:
    # Found by the demo: two threads in WorkQueue.add gave one key out twice, and the agent died.
    tree = ast.parse(path.read_text())

    plain = [
        inner.name
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef)
        for inner in ast.walk(outer)
        if isinstance(inner, ast.FunctionDef) and inner is not outer
    ]

    assert plain == []


def test_each_part_has_its_glue() -> None:
    assert len(HANDLERS) == 4
