"""Shows a rollout on a terminal, redrawn in place: bars, revisions, steps, what it waits for.

`picture` is pure; `Live` owns the terminal while the rollout goes on, and leaves the last picture.
"""

from collections.abc import Iterator
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live as Screen
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from kube_runtime.clock import Clock
from kube_runtime.resource import Json
from levelset.rollout import facts, history
from levelset.rollout.history import Revision
from levelset.rollout.snapshot import Snapshot, StepState
from levelset.rollout.spans import span
from levelset.rollout.verdict import Phase, Verdict

_BAR_WIDTH: Final = 30
_FAILED: Final = "Failed"
_SPINNER: Final = Spinner("dots", style="cyan")
_MARKS: Final = {Phase.DONE: ("✔", "green"), Phase.FAILED: ("✘", "red")}


class Live:
    """A display that redraws in place."""

    wants_podsets = True

    def __init__(self, console: Console, *, clock: Clock) -> None:
        self._screen = Screen(console=console, refresh_per_second=8)
        self._clock = clock
        self._started = clock.monotonic()

    def __enter__(self) -> Self:
        self._screen.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._screen.stop()

    def __call__(self, seen: Snapshot, verdict: Verdict, podsets: list[Json]) -> None:
        """Redraw."""
        elapsed = self._clock.monotonic() - self._started
        self._screen.update(picture(seen, verdict, podsets, elapsed_seconds=elapsed))


def picture(
    seen: Snapshot,
    verdict: Verdict,
    podsets: list[Json],
    *,
    elapsed_seconds: float,
) -> RenderableType:
    """Draw one look."""
    parts: list[RenderableType] = [_head(seen, verdict, elapsed_seconds), _bars(seen)]
    if shown := _shown(seen, history.revisions(podsets)):
        parts.append(_revisions(seen, shown))
    if seen.steps and seen.step is not None:
        parts.append(_steps(seen, seen.step))
    parts += [
        Text.assemble(("  ! ", "bold yellow"), (line, "yellow"))
        for line in facts.details(seen)
        if not line.startswith("step ")
    ]
    return Group(*parts)


def _head(seen: Snapshot, verdict: Verdict, elapsed_seconds: float) -> RenderableType:
    """Say it in one line; a warning's evidence stands below, where there is room for it."""
    row = Table.grid(padding=(0, 1))
    text = Text.assemble(
        (verdict.text.partition(" (Warning: ")[0], "bold"),
        (f" ({span(max(1, round(elapsed_seconds)))})", "dim"),
    )
    if verdict.phase is Phase.WAITING:
        row.add_row(Text("‖", style="yellow") if seen.is_paused else _SPINNER, text)
    else:
        mark, style = _MARKS[verdict.phase]
        row.add_row(Text(mark, style=f"bold {style}"), text)
    return row


def _bars(seen: Snapshot) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    for label, count, style in (
        ("updated", seen.updated, "cyan"),
        ("available", seen.available, "green"),
    ):
        bar = ProgressBar(
            total=max(seen.replicas, 1),
            completed=count,
            width=_BAR_WIDTH,
            complete_style=style,
            finished_style=style,
        )
        grid.add_row(Text(label, style="dim"), bar, Text(f"{count}/{seen.replicas}"))
    return Padding(grid, (0, 0, 0, 2), expand=False)


def _shown(seen: Snapshot, there: list[Revision]) -> list[Revision]:
    """Leave out what is only history."""
    held = seen.held.revision if seen.held else 0
    return [
        each
        for each in there
        if each.number in (held, seen.revision)
        or each.podset["spec"].get("replicas", 1)
        or (each.podset.get("status") or {}).get("replicas")
    ]


def _revisions(seen: Snapshot, shown: list[Revision]) -> RenderableType:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for name in ("REVISION", "PODSET", "PODS", "READY", "AVAILABLE", "IMAGE"):
        table.add_column(name, justify="left", overflow="fold")
    for each in reversed(shown):
        status = each.podset.get("status") or {}
        style = "bold" if each.podset["metadata"]["name"] == seen.podset else ""
        table.add_row(
            f"{each.number}{_tag(seen, each.number)}",
            each.podset["metadata"]["name"],
            f"{status.get('replicas', 0)}/{each.podset['spec'].get('replicas', 1)}",
            str(status.get("readyReplicas", 0)),
            str(status.get("availableReplicas", 0)),
            ", ".join(dict.fromkeys(_images(each.template))),
            style=style,
        )
    return Padding(table, (0, 0, 0, 2), expand=False)


def _tag(seen: Snapshot, number: int) -> str:
    if seen.held is not None and seen.held.revision == number:
        return " held"
    return " known good" if seen.known_good == number else ""


def _images(template: Json) -> Iterator[str]:
    for container in template["spec"].get("containers") or ():
        yield str(container.get("image", ""))


def _steps(seen: Snapshot, at: StepState) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    for index, step in enumerate(seen.steps):
        mark, style = _mark(index, at)
        is_present = index == at.index
        text = facts.step_text(step) + (f": {at.message}" if is_present and at.message else "")
        grid.add_row(Text(mark, style=style), Text(text, style=style if is_present else "dim"))
    return Padding(grid, (0, 0, 0, 2), expand=False)


def _mark(index: int, at: StepState) -> tuple[str, str]:
    if index != at.index:
        return ("✔", "green") if index < at.index else ("·", "dim")
    return ("✘", "bold red") if at.state == _FAILED else ("▶", "bold cyan")
