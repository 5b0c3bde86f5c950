"""`levelset tools`: the programs that the embedded cluster is made of.

`install` is what the Makefile calls before the demo, the tests and the benchmarks.
"""

import argparse
import sys
import threading
import time
from concurrent.futures import FIRST_EXCEPTION, Future, wait

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Table

from local_cluster import tools
from local_cluster.tools import debian
from local_cluster.tools.install import Missing, Progress, Purpose, start

_TICK_SECONDS = 0.5
_WIDTH = 160
_LINE_EVERY_SECONDS = 30.0


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the group and its verbs."""
    group = subparsers.add_parser("tools", help="the programs of the embedded cluster")
    verbs = group.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    listing = verbs.add_parser("list", help="what there is, which version, where")
    listing.set_defaults(run=_list)
    getting = verbs.add_parser("install", help="get what is missing: packages and programs")
    getting.add_argument(
        "--for",
        dest="purpose",
        choices=[each.value for each in Purpose],
        default=Purpose.DEMO.value,
        help="what they are wanted for (default: demo)",
    )
    getting.add_argument("--no-apt", action="store_true", help="install no Debian packages")
    getting.set_defaults(run=_install)


def _list(args: argparse.Namespace) -> int:
    del args
    table = Table("program", "version", "state", "where", box=None, pad_edge=False)
    for program in tools.PROGRAMS.values():
        found = tools.look(program.name)
        where = str(found.path) if found else "`levelset tools install` builds it"
        table.add_row(
            program.name, program.version, found.origin.value if found else "missing", where
        )
    for package in (*debian.NODE_PACKAGES, *debian.SERVICE_PACKAGES):
        state = "missing" if debian.missing([package]) else "installed"
        table.add_row(package, "Debian's", state, "package")
    console = Console()
    Console(width=max(console.width, _WIDTH)).print(table)  # a path that is cut off helps nobody
    return 0


def _install(args: argparse.Namespace) -> int:
    if not install(Purpose(args.purpose), with_apt=not args.no_apt):
        print(f"everything for {args.purpose} is here")
    return 0


def install(purpose: Purpose, *, with_apt: bool, cancel: threading.Event | None = None) -> bool:
    """Get what is missing, with progress on standard error; False when nothing was.

    Another thread ends it by setting `cancel`; an error or Ctrl-C in here ends the builds too.
    """
    missing = Missing.look(purpose)
    if not missing.programs and not missing.packages:
        return False
    expected = missing.expected_seconds()
    if missing.programs:
        names = " ".join(each.name for each in missing.programs)
        _say(f"building {names}: up to {_span(expected)}, once per machine and version")
    progress = Progress(total=expected)
    cancel = cancel or threading.Event()
    work = start(missing, progress, with_apt=with_apt, report=_say, cancel=cancel)
    try:
        _follow(work, progress)
    finally:
        failed = [each for each in work if each.done() and each.exception()]
        cancel.set()  # whatever still runs would be for nothing
    for each in (*failed, *work):
        each.result()
    return True


def _follow(work: list[Future[None]], progress: Progress) -> None:
    if sys.stderr.isatty():
        _follow_with_bar(work, progress)
    else:
        _follow_with_lines(work, progress)


def _follow_with_bar(work: list[Future[None]], progress: Progress) -> None:
    columns = (BarColumn(), TextColumn("{task.percentage:>3.0f}% {task.description}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=max(progress.total, 1.0))
        while not _ended(work):
            now = time.monotonic()
            bar.update(task, completed=progress.completed(now), description=_words(progress, now))


def _follow_with_lines(work: list[Future[None]], progress: Progress) -> None:
    told, next_line, last = 0, time.monotonic() + _LINE_EVERY_SECONDS, ""
    while not _ended(work):
        for name in progress.finished[told:]:
            _say(f"built {name}")
            told += 1
        if (now := time.monotonic()) > next_line:
            words = _words(progress, now)
            if words != last:
                _say(words)
            next_line, last = now + _LINE_EVERY_SECONDS, words
    for name in progress.finished[told:]:
        _say(f"built {name}")


def _ended(work: list[Future[None]]) -> bool:
    done = wait(work, timeout=_TICK_SECONDS, return_when=FIRST_EXCEPTION)
    return not done.not_done or any(each.exception() for each in done.done)


def _words(progress: Progress, now: float) -> str:
    running = ", ".join(progress.running) or "packages"
    left = progress.total - progress.completed(now)
    return f"{running}: about {_span(left)} left"


def _span(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(seconds, 1):.0f} s"


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
