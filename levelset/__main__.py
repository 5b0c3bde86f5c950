"""Entry point of `levelset` and of the kubectl plugin of the same name.

It parses, hands over to one command group and turns what went wrong into one line:
exit code 0 for success, 1 for a failure that the line explains, 2 for wrong usage.
Nothing of a cluster is touched by a command line that does not parse.
"""

import argparse
import errno
import importlib
import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from kube_runtime.errors import LevelsetError
from kube_runtime.usage import UsageParser
from levelset import __version__
from levelset.commands import GROUPS

INTERRUPTED = 130
_ADVICE = {
    errno.ENOSPC: "free some space there and try again",
    errno.EDQUOT: "free some space there and try again",
    errno.EACCES: "run it as a user who may write there, or set XDG_STATE_HOME and XDG_CACHE_HOME",
    errno.EROFS: "set XDG_STATE_HOME and XDG_CACHE_HOME to folders that can be written",
}


class _Parser(UsageParser):
    """A parser that takes the global options; those of its commands do as well, by inheritance."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Without a default, since a command's parser would write it over what was given before it.
        self.add_argument(
            "--debug",
            action="store_true",
            default=argparse.SUPPRESS,
            help="show the whole trace of a failure",
        )
        for flag, metavar, help_ in (
            ("--kubeconfig", "FILE", "default: $KUBECONFIG, then ~/.kube/config"),
            ("--context", "NAME", "context of the kubeconfig (default: its current one)"),
        ):
            self.add_argument(flag, metavar=metavar, default=argparse.SUPPRESS, help=help_)


def _parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    parser = _Parser(
        prog=_name(), description="Keeps a Kubernetes cluster level with what was declared."
    )
    parser.set_defaults(debug=False, kubeconfig=None, context=None)
    parser.add_argument("--version", action="version", version=f"levelset {__version__}")
    subparsers = parser.add_subparsers(
        title="commands", dest="group", metavar="COMMAND", required=True
    )
    wanted = _group_of(argv)
    for name, summary in GROUPS.items():
        if name == wanted:
            importlib.import_module(f"levelset.commands.{name}").add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=summary)
    return parser


def _name() -> str:
    """Call the program as it was called: `kubectl levelset` runs one of another name."""
    is_plugin = os.path.basename(sys.argv[0]) == "kubectl-levelset"  # noqa: PTH119 - no file is meant
    return "kubectl levelset" if is_plugin else "levelset"


def _group_of(argv: Sequence[str]) -> str | None:
    """Name the command group without importing any: the first word after the global options."""
    known, rest = _without_exit().parse_known_args(list(argv))
    return known.group if known.group in GROUPS else next((a for a in rest if a in GROUPS), None)


def _without_exit() -> argparse.ArgumentParser:
    scout = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for flag in ("--kubeconfig", "--context"):
        scout.add_argument(flag)
    scout.add_argument("--debug", action="store_true")
    scout.add_argument("group", nargs="?")
    return scout


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    args = _parser(words).parse_args(words)
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        print("levelset: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # `levelset app diff | head` is no failure
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (LevelsetError, OSError) as error:
        return _explain(error, debug=args.debug)


def _explain(error: LevelsetError | OSError, *, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    text = error.diagnostics() if isinstance(error, LevelsetError) else _words(error)
    print(f"levelset: {text}", file=sys.stderr)
    return 1


def _words(error: OSError) -> str:
    """Say what the system refused, where, and what to do about it where that is plain."""
    if error.filename is None or error.strerror is None:
        return str(error)
    advice = _ADVICE.get(error.errno or 0, "")
    return f"{error.filename}: {error.strerror}{advice and '; '}{advice}"


def run() -> None:
    """Console script: exit with `main`'s code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a ✔ that a terminal lacks is no reason to fail
    sys.exit(main())


if __name__ == "__main__":
    run()
