"""`levelset demo`: one push to Git becomes running, verified, measured pods."""

import argparse
from pathlib import Path

from levelset.demo import play
from levelset.demo.stage import Options

_FEWEST_NODES = 2


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    summary = "one push to Git all the way to running, verified, measured pods"
    parser = subparsers.add_parser("demo", help=summary, description=f"Plays {summary}.")
    parser.add_argument("--keep", action="store_true", help="leave everything up at the end")
    parser.add_argument(
        "--down", action="store_true", help="end what an earlier --keep has left, and nothing else"
    )
    parser.add_argument("--no-apt", action="store_true", help="install no Debian packages")
    parser.add_argument(
        "--nodes",
        type=_nodes,
        default=3,
        help="nodes, at least 2, since one is drained (default: 3)",
    )
    parser.add_argument(
        "--picture",
        type=Path,
        metavar="FILE",
        help="where the picture of the rolling update goes, .svg or .png (default: the state folder)",
    )
    parser.set_defaults(run=_run)


def _nodes(text: str) -> int:
    if not text.isdecimal() or int(text) < _FEWEST_NODES:
        raise argparse.ArgumentTypeError(f"expected at least {_FEWEST_NODES}, found {text!r}")
    return int(text)


def _run(args: argparse.Namespace) -> int:
    if args.down:
        return play.take_down()
    options = Options(
        keep=args.keep,
        install_packages=not args.no_apt,
        nodes=args.nodes,
        picture=args.picture,
    )
    return play.run(options)
