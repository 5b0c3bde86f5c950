"""Lets ours and the built-in controllers do the same, in turns on one cluster, and compares.

Both once with their default client limits, then in turns with the same high limits, each of them
first as often as second: the machine is not always the same.
$LEVELSET_BENCH_ROUNDS says how many turns, $LEVELSET_BENCH_SCALE makes everything smaller.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from kube_runtime.api import ApiClient
from tests.bench.cluster import Cluster
from tests.bench.contenders import BUILTIN, BUILTIN_DEFAULT, OURS, OURS_DEFAULT, Contender
from tests.bench.results import record
from tests.bench.stages import Figures, Run, contest, medians

ROUNDS: Final = int(os.environ.get("LEVELSET_BENCH_ROUNDS", "2"))
_SCALE: Final = float(os.environ.get("LEVELSET_BENCH_SCALE", "1"))
_COLUMNS: Final = {
    OURS: "ours",
    BUILTIN: "built-in",
    OURS_DEFAULT: "ours, default limits",
    BUILTIN_DEFAULT: "built-in, default limits",
}
MOST_TIME: Final = 1.15  # at or ahead, by the medians of a small, busy machine
MOST_CPU: Final = 1.5
_LEAST_CPU_SECONDS: Final = 1.0  # a ratio of less says nothing: it is counted in hundredths

Stages: TypeAlias = dict[str, Figures]
Scenario: TypeAlias = Callable[[Run], Awaitable[Stages]]
Result: TypeAlias = Mapping[Contender, Figures]


def scaled(count: int) -> int:
    """Make a count as small as the run shall be."""
    return max(1, round(count * _SCALE))


async def duel(cluster: Cluster, api: ApiClient, scenario: Scenario) -> dict[str, Result]:
    """Play the scenario with everybody; tell the figures of each stage."""
    turns = [BUILTIN_DEFAULT, OURS_DEFAULT]
    for number in range(ROUNDS):
        turns += (OURS, BUILTIN) if number % 2 else (BUILTIN, OURS)
    played: dict[Contender, list[Stages]] = {}
    for contender in turns:
        async with contest(cluster, api, contender) as run:
            played.setdefault(contender, []).append(await scenario(run))
    return {
        stage: {
            contender: medians([stages[stage] for stages in rounds])
            for contender, rounds in played.items()
        }
        for stage in played[OURS][0]
    }


def publish(name: str, result: Result, **more: Any) -> None:
    """Record one stage as a table with a column each."""
    ours, builtin = result[OURS], result[BUILTIN]
    record(
        name,
        rounds=ROUNDS,
        ratio_to_builtin=round(ours["seconds"] / builtin["seconds"], 2),
        cpu_ratio_to_builtin=round(ours["cpu s"] / max(builtin["cpu s"], 0.01), 2),
        **more,
        side_by_side={
            column: result[contender]
            for contender, column in _COLUMNS.items()
            if contender in result
        },
    )


def judge(result: Result) -> list[str]:
    """Say which goals ours has missed."""
    ours, builtin = result[OURS], result[BUILTIN]
    missed = [
        f"{result_of}: {figure} {result[contender][figure]:.0f}"
        for contender, result_of in ((OURS, "ours"), (OURS_DEFAULT, "ours by default"))
        for figure in ("pods over", "pods under")
        if result[contender][figure]
    ]
    if _SCALE < 1:
        return missed  # what each needs once, for any number of pods, outweighs the rest
    if ours["seconds"] > builtin["seconds"] * MOST_TIME:
        missed.append(f"{ours['seconds']} s, the built-in {builtin['seconds']} s")
    if ours["cpu s"] > max(builtin["cpu s"], _LEAST_CPU_SECONDS) * MOST_CPU:
        missed.append(f"{ours['cpu s']} CPU-s, the built-in {builtin['cpu s']} CPU-s")
    return missed
