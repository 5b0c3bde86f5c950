"""Where benches leave their figures: one JSON file, which docs/benchmarks.md is written from.

record("podset 0 to 1000", ours_seconds=4.1, builtin_seconds=4.4) replaces what was there under the
name. A figure `side_by_side` ({contender: {figure: value}}) becomes a table with a column each.
The file is $LEVELSET_BENCH_RESULTS, else build/benchmarks.json of this checkout.
"""

import json
import os
import platform
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def record(name: str, **figures: Any) -> None:
    """Keep the figures of one bench, and show them."""
    path = _path()
    path.parent.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    results[name] = {"at": datetime.now(UTC).isoformat(timespec="seconds"), **_machine(), **figures}
    path.write_text(json.dumps(results, indent=2) + "\n")
    print(f"\n{name}: " + ", ".join(f"{key}={value}" for key, value in figures.items()))  # noqa: T201


def median(values: Sequence[float], digits: int = 2) -> float:
    """Round the median, as it is shown."""
    return round(statistics.median(values), digits)


def _path() -> Path:
    asked = os.environ.get("LEVELSET_BENCH_RESULTS")
    return Path(asked) if asked else ROOT / "build" / "benchmarks.json"


def _machine() -> dict[str, Any]:
    return {"cpus": os.cpu_count(), "python": platform.python_version()}
