"""Tells the demo on the terminal: numbered steps with their notes and durations, and a table at the end.

On a terminal the running step has a spinner; in a log file the same lines come without it.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from rich.console import Console
from rich.markup import escape
from rich.table import Table

_INDENT = "     "
_WIDTH_OF_A_FILE = 120


@dataclass(frozen=True, slots=True)
class Finished:
    """A step that is over."""

    number: int
    title: str
    seconds: float
    holds: bool
    summary: str


@dataclass(slots=True)
class Step:
    """The step that is being told."""

    console: Console
    summary: str = ""

    def note(self, text: str) -> None:
        """Say one thing that happened."""
        self.console.print(f"{_INDENT}{text}", highlight=False)

    def fact(self, name: str, value: str) -> None:
        """Say one thing that was measured or found."""
        self.note(f"[dim]{escape(name)}[/dim] {escape(value)}")

    def quote(self, text: str) -> None:
        """Repeat what another program said."""
        for line in text.strip().splitlines():
            self.note(f"[italic cyan]│ {escape(line)}[/italic cyan]")


def _console() -> Console:
    console = Console(soft_wrap=True)
    if not console.is_terminal:
        console.width = _WIDTH_OF_A_FILE
    return console


@dataclass(slots=True)
class Narrator:
    """Counts the steps and remembers how they went."""

    console: Console = field(default_factory=_console)
    finished: list[Finished] = field(default_factory=list)

    def title(self, text: str, subtitle: str) -> None:
        """Open the story."""
        self.console.print(
            f"\n[bold]{escape(text)}[/bold]  [dim]{escape(subtitle)}[/dim]", highlight=False
        )

    @contextmanager
    def step(self, title: str, *, has_own_progress: bool = False) -> Iterator[Step]:
        """Tell one step; its duration is printed when it ends, also when it fails."""
        number = len(self.finished) + 1
        step = Step(self.console)
        self.console.print(f"\n[bold blue]{number:>3}[/bold blue]  [bold]{escape(title)}[/bold]")
        began, holds = time.monotonic(), False
        try:
            with self._spinner(title) if not has_own_progress else nullcontext():
                yield step
            holds = True
        finally:
            seconds = time.monotonic() - began
            self.finished.append(Finished(number, title, seconds, holds, step.summary))
            mark = "[bold green]✔[/bold green]" if holds else "[bold red]✘[/bold red]"
            self.console.print(f"{_INDENT}{mark} [dim]{seconds:.1f} s[/dim]")

    def _spinner(self, title: str) -> AbstractContextManager[object]:
        return self.console.status(f"[dim]{escape(title)} …[/dim]")

    def closing_table(self) -> Table:
        """Sum the story up."""
        table = Table(title="The demo in one table", title_justify="left", show_edge=False)
        table.add_column("", justify="right", style="blue")
        table.add_column("step")
        table.add_column("seconds", justify="right")
        table.add_column("result")
        for step in self.finished:
            colour = "green" if step.holds else "red"
            result = step.summary or ("holds" if step.holds else "failed")
            shown = f"[{colour}]{escape(result)}[/{colour}]"
            table.add_row(str(step.number), escape(step.title), f"{step.seconds:.1f}", shown)
        total = sum(step.seconds for step in self.finished)
        table.add_section()
        table.add_row("", "altogether", f"{total:.1f}", "")
        return table
