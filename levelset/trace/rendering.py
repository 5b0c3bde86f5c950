"""Shows a journey to people: a waterfall of the slowest pod beside the median, and all pods. Pure.

Made of rich's renderables: in colour on a terminal, the same text without one.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from levelset.rollout.spans import span
from levelset.trace.events import one_line
from levelset.trace.model import Journey, Milestone, PodJourney, Progress, Stage

_BAR_CELLS: Final = 36
_WORTH_SECONDS: Final = 2.0
"""Below this nothing is called slow."""
_STUCK_SECONDS: Final = 10.0
"""Below this what is waited for is only on its way."""
_REASON_CHARS: Final = 60
_STYLES: Final = {
    Progress.REACHED: ("●", "green"),
    Progress.WAITED_FOR: ("◌", "bold yellow"),
    Progress.AHEAD: ("·", "dim"),
}
_PARTS: Final = "▏▎▍▌▋▊▉█"
_COLUMNS: Final = {
    Milestone.POD_CREATED: "CREATED",
    Milestone.SCHEDULED: "SCHEDULED",
    Milestone.SANDBOX_READY: "SANDBOX",
    Milestone.INITIALIZED: "INIT",
    Milestone.IMAGE_PULLED: "IMAGE",
    Milestone.STARTED: "STARTED",
    Milestone.READY: "READY",
    Milestone.IN_ENDPOINT_SLICE: "SERVING",
}


def render(journey: Journey, *, with_pods: bool = False) -> RenderableType:
    """Draw the journey."""
    parts: list[RenderableType] = [*_head(journey), Text()]
    slowest = journey.slowest
    if slowest is None:
        parts.append(_waterfall(journey.before, None, seconds=journey.seconds))
        parts += _findings(journey, journey.before)
    else:
        parts += [_title(journey, slowest), _waterfall(slowest.stages, journey, seconds=0)]
        parts += _findings(journey, slowest.stages)
    if with_pods and journey.pods:
        parts += [Text(), _pods(journey)]
    parts += [Text(f"  {note}", style="dim") for note in journey.notes]
    return Group(*parts)


def _head(journey: Journey) -> Iterator[RenderableType]:
    revision = f", revision {journey.revision}" if journey.revision else ""
    podset = f" (PodSet {journey.podset})" if journey.podset else ""
    yield Text.assemble(("Rollout ", "dim"), (str(journey.key), "bold"), f"{revision}{podset}")
    if journey.changed_at is not None:
        by = f" by {journey.changed_by}" if journey.changed_by else ""
        yield Text(f"template changed {journey.changed_at:%Y-%m-%d %H:%M:%S} UTC{by}", style="dim")
    yield _outcome(journey)


def _outcome(journey: Journey) -> Text:
    arrived = sum(each.waits is None for each in journey.pods)
    pods = f"{arrived} of {journey.wanted} pods arrived"
    if journey.is_complete:
        return Text(f"complete after {_took(journey.seconds)}: {pods}", style="bold green")
    return Text(f"under way for {_took(journey.seconds)}: {pods}", style="bold yellow")


def _title(journey: Journey, pod: PodJourney) -> Text:
    which = "slowest" if pod.waits is None else "furthest behind"
    of = f"{which} of {len(journey.pods)} pods: " if len(journey.pods) > 1 else "the pod: "
    where = f" on {pod.node}" if pod.node else ""
    return Text.assemble((f"  {of}", "dim"), (pod.pod, "bold"), where)


def _waterfall(
    stages: Sequence[Stage], journey: Journey | None, *, seconds: float
) -> RenderableType:
    """Draw one row a stage: when, how long, the median pod's time, and a bar on the common axis."""
    median = journey.median if journey is not None and len(journey.pods) > 1 else None
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("", "", "AT", "TOOK", *(("MEDIAN",) if median else ()), ""):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    origin = next((each.at for each in stages if each.at is not None), None)
    ends = _ends(stages)
    total = max([*(end for _, end in ends), seconds, 1.0])
    slow = _slow(stages)
    for stage, (start, end) in zip(stages, ends, strict=True):
        mark, style = _STYLES[stage.progress]
        at = "" if stage.at is None or origin is None else _at((stage.at - origin).total_seconds())
        row = [
            Text(mark, style=style),
            Text(stage.milestone.value, style="bold" if stage is slow else _style_of_name(stage)),
            Text(at),
            Text(_took_of(stage), style="bold red" if stage is slow else ""),
        ]
        if median is not None:
            row.append(Text(_took_of(_same(median, stage.milestone)), style="dim"))
        bar = "" if stage.progress is Progress.AHEAD else _bar(start, end, total)
        row.append(Text(bar, style="red" if stage is slow else style))
        table.add_row(*row)
    return Padding(table, (0, 0, 0, 2), expand=False)


def _style_of_name(stage: Stage) -> str:
    """Choose how a stage's name looks."""
    return "dim" if stage.progress is Progress.AHEAD else ""


def _ends(stages: Sequence[Stage]) -> list[tuple[float, float]]:
    """Lay the stages out one after the other, in seconds from the first."""
    spans: list[tuple[float, float]] = []
    reached = 0.0
    for stage in stages:
        took = stage.seconds or 0.0
        spans.append((reached, reached + took))
        reached += took
    return spans


def _bar(start: float, end: float, total: float) -> str:
    """Draw a bar in eighths of a cell; what took no time is a thin line where it happened."""
    first = min(int(start / total * _BAR_CELLS), _BAR_CELLS - 1)
    eighths = round((end - start) / total * _BAR_CELLS * 8)
    if eighths <= 0:
        return " " * first + (_PARTS[0] if end >= start and end > 0 else "")
    whole, rest = divmod(eighths, 8)
    return " " * first + "█" * whole + (_PARTS[rest - 1] if rest else "")


def _slow(stages: Sequence[Stage]) -> Stage | None:
    """Find the stage that is waited in, else the one that took the largest part."""
    waiting = next((each for each in stages if each.progress is Progress.WAITED_FOR), None)
    if waiting is not None:
        return waiting
    timed = [each for each in stages if (each.seconds or 0) >= _WORTH_SECONDS]
    return max(timed, key=lambda each: each.seconds or 0, default=None)


def _findings(journey: Journey, stages: Sequence[Stage]) -> Iterator[RenderableType]:
    """Say in words which stage is stuck or slow, and why."""
    grid = Table.grid(padding=(0, 1))
    slow = _slow(stages)
    if slow is not None:
        style = "yellow" if slow.progress is Progress.WAITED_FOR else "red"
        grid.add_row(Text("  ➤", style=f"bold {style}"), Text(_finding(slow), style=style))
    if journey.hold and not _says_the_same(slow, journey.hold):
        grid.add_row(Text("  ➤", style="bold yellow"), Text(f"held up: {journey.hold}"))
    for stage in stages:
        if stage is not slow and stage.evidence and stage.progress is Progress.REACHED:
            grid.add_row("", Text(f"{stage.milestone.value}: {stage.evidence}", style="dim"))
    if grid.row_count:
        yield Text()
        yield grid


def _finding(stage: Stage) -> str:
    name = f"“{stage.milestone.value}”"
    why = f": {stage.evidence}" if stage.evidence else ""
    if stage.progress is not Progress.WAITED_FOR:
        return f"slow: {name} took {_took(stage.seconds or 0)}{why}"
    lasting = "" if stage.seconds is None else f", {_took(stage.seconds)} so far"
    return f"{_word(stage)}: waits for {name}{lasting}{why}"


def _word(stage: Stage) -> str:
    return "stuck" if (stage.seconds or 0) >= _STUCK_SECONDS else "on its way"


def _says_the_same(slow: Stage | None, hold: str) -> bool:
    """Tell whether the pod's own evidence says it already: blockedBy is made of the same."""
    if slow is None or not slow.evidence:
        return False
    is_waiting = slow.progress is Progress.WAITED_FOR
    return slow.evidence == hold or (is_waiting and hold.startswith("blocked by"))


def _pods(journey: Journey) -> RenderableType:
    """List every pod with what each stage took."""
    there = {stage.milestone for pod in journey.pods for stage in pod.stages}
    columns = [each for each in _COLUMNS if each in there]
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("POD", no_wrap=True)
    table.add_column("NODE", no_wrap=True)
    for name in (*(_COLUMNS[each] for each in columns), "TOTAL"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for pod in sorted(journey.pods, key=lambda each: -each.seconds):
        cells = [_cell(_same(pod, milestone)) for milestone in columns]
        why = "" if pod.is_of_change else "not of this change"
        if pod.waits is not None and pod.waits.evidence:
            why = one_line(pod.waits.evidence, most=_REASON_CHARS)
        table.add_row(
            pod.pod, pod.node or "-", *cells, Text(_took(pod.seconds), style="bold"), Text(why)
        )
    return Padding(table, (0, 0, 0, 2), expand=False)


def _cell(stage: Stage | None) -> Text:
    if stage is None or stage.progress is Progress.AHEAD:
        return Text("·", style="dim")
    style = "bold yellow" if stage.progress is Progress.WAITED_FOR else ""
    return Text(_took_of(stage) or "✔", style=style)


def _same(pod: PodJourney, milestone: Milestone) -> Stage | None:
    return next((each for each in pod.stages if each.milestone is milestone), None)


def _took_of(stage: Stage | None) -> str:
    if stage is None or stage.seconds is None:
        return ""
    more = "…" if stage.progress is Progress.WAITED_FOR else ""
    return f"{_took(stage.seconds)}{more}"


def _took(seconds: float) -> str:
    """Write a duration; the times it is made of are whole seconds, so 0 is less than one."""
    return "<1 s" if seconds < 0.001 else span(seconds)


def _at(seconds: float) -> str:
    return f"+{seconds:.0f} s" if seconds < 120 else f"+{span(seconds)}"
