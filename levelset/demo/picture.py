"""Draws the rolling update: pods by revision and readiness over time, and below them the answers by version.

Takes what the recorder and the traffic client wrote down; writes an SVG or PNG by the file's ending.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from levelset.demo.errors import DemoFailedError
from levelset.demo.recorder import LEAVING, PHASES, READY, STARTING, Moment, Phase
from levelset.demo.traffic import Request

_COLOURS = ("#2f6fde", "#e58a1f", "#3a9d5d", "#8e5bd0")  # one a revision, in order of appearance
_STRENGTH = {READY: 0.95, STARTING: 0.45, LEAVING: 0.2}
_FAILED_COLOUR = "#c62828"
_BIN_SECONDS = 0.5


def revisions_of(moments: Sequence[Moment]) -> list[str]:
    """List the revisions in the order in which they appeared."""
    return list(dict.fromkeys(revision for moment in moments for revision, _ in moment.pods))


def series(
    moments: Sequence[Moment], revision: str, phase: Phase, *, start: float, end: float
) -> tuple[list[float], list[int]]:
    """Return times (from `start`) and counts of one band, as steps; the state before counts at 0."""
    before = [m for m in moments if m.at <= start][-1:]
    shown = [m for m in moments if start < m.at <= end]
    times = [0.0 for _ in before] + [m.at - start for m in shown] + [end - start]
    counts = [m.pods.get((revision, phase), 0) for m in (*before, *shown)]
    return times, [*counts, counts[-1] if counts else 0]


def answers_per_second(
    requests: Sequence[Request], *, start: float, end: float
) -> dict[str, list[float]]:
    """Return a rate in each half second, by version; failures are the version "failed"."""
    bins = max(1, int((end - start) / _BIN_SECONDS))
    counted = Counter(
        ("failed" if r.error else r.version, int((r.at - start) / _BIN_SECONDS))
        for r in requests
        if start <= r.at < end
    )
    versions = dict.fromkeys(version for version, _ in counted)
    return {v: [counted[v, i] / _BIN_SECONDS for i in range(bins)] for v in versions}


def draw(
    moments: Sequence[Moment],
    requests: Sequence[Request],
    path: Path,
    *,
    start: float,
    end: float,
    title: str,
) -> None:
    """Write the picture of the time from `start` to `end` (Unix time) to `path`."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - slow to import, used once
    except ImportError as error:
        raise DemoFailedError(
            "matplotlib is not installed, so there is no picture; requirements/dev.txt has it"
        ) from error
    figure = Figure(figsize=(9, 5.4), layout="constrained")
    rates = answers_per_second(requests, start=start, end=end)
    ratios = (3, 2) if rates else (1,)
    panels = figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios, squeeze=False)
    colours = dict(zip(revisions_of(moments), _COLOURS, strict=False))
    _draw_pods(panels[0, 0], moments, colours, start=start, end=end)
    if rates:
        _draw_answers(panels[-1, 0], rates, colours)
    panels[-1, 0].set_xlabel("seconds since the push")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    for axes in panels.flat:
        axes.spines[["top", "right"]].set_visible(False)
        axes.margins(x=0)
    figure.savefig(
        path, metadata={"Date": None, "Creator": None} if path.suffix == ".svg" else None
    )


def _draw_pods(
    axes: Any,
    moments: Sequence[Moment],
    colours: Mapping[str, str],
    *,
    start: float,
    end: float,
) -> None:
    """Stack a band for each revision and phase: what serves at the bottom, what leaves on top."""
    everything = [(revision, phase) for revision in colours for phase in PHASES]
    drawn = {band: series(moments, *band, start=start, end=end) for band in everything}
    bands = [band for band, (_, counts) in drawn.items() if any(counts)]
    axes.stackplot(
        drawn[everything[0]][0],
        [drawn[band][1] for band in bands],
        step="post",
        colors=[(colours[r], _STRENGTH[p]) for r, p in bands],
        labels=[f"{r} {p}" for r, p in bands],
        linewidth=0,
    )
    axes.set_ylabel("pods")
    axes.yaxis.get_major_locator().set_params(integer=True)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=9)


def _draw_answers(
    axes: Any, rates: Mapping[str, Sequence[float]], colours: Mapping[str, str]
) -> None:
    for version, values in rates.items():
        times = [index * _BIN_SECONDS for index in range(len(values))]
        colour = colours.get(version, _FAILED_COLOUR)
        axes.plot(times, values, color=colour, label=f"answers of {version}", linewidth=1.8)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("requests per second")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=9)
