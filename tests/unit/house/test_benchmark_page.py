"""The page of benchmarks is a function of what the benches recorded."""

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[3]


def _conftest() -> ModuleType:
    path = ROOT / "tests" / "bench" / "conftest.py"
    spec = importlib.util.spec_from_file_location("bench_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_bench_has_a_table_with_its_figures_and_its_machine() -> None:
    figures = {
        "at": "2026-01-01T00:00:00+00:00",
        "cpus": 2,
        "python": "3.11.7",
        "ours_seconds": 4.5,
        "runs": [4, 5],
    }

    page = _conftest().render({"podset 0 to 1000": figures})

    assert "## Podset 0 to 1000" in page
    assert "2 cores, Python 3.11.7" in page
    assert "| ours seconds | 4.5 |" in page
    assert "| runs | 4, 5 |" in page


def test_those_who_did_the_same_stand_side_by_side() -> None:
    figures = {
        "at": "2026-01-01T00:00:00+00:00",
        "cpus": 2,
        "python": "3.11.7",
        "rounds": 2,
        "side_by_side": {"ours": {"seconds": 4.5, "pods over": 0}, "built-in": {"seconds": 4.6}},
    }

    page = _conftest().render({"rolling update": figures})

    assert "| rounds | 2 |" in page
    assert "| figure | ours | built-in |" in page
    assert "| seconds | 4.5 | 4.6 |" in page
    assert "| pods over | 0 |  |" in page
