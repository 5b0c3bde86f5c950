"""`levelset logs`: the logs of all pods of a Rollout, merged."""

import argparse
import asyncio
import math
import sys
from functools import partial
from typing import Final

from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK
from kube_runtime.resource import Key
from levelset.rollout import flags, log_reading, targets
from levelset.rollout.log_sources import Source, Wish
from levelset.rollout.spans import seconds_of

_SUMMARY: Final = "the logs of all pods of a Rollout, merged; with -f, of those to come, too"
_EXAMPLES: Final = """examples:
  levelset logs ro/web --tail=20          # the last lines of each pod, in order of time
  levelset logs ro/web -f                 # follows a rollout: new pods are taken up as they start
  levelset logs ro/web -c sidecar --previous
"""
_MOST: Final = 50
_ROOM: Final = 90  # of the 100 connections of the pool; looking for new pods needs some, too


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "logs",
        help=_SUMMARY,
        usage="%(prog)s [options] ROLLOUT",
        description=f"Prints {_SUMMARY}.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    targets.add_target(parser)
    flags.add_switch(parser, "--follow", "-f", default=False, help_="go on until it is gone")
    parser.add_argument("-c", "--container", default="", help="(default: the pod's default one)")
    flags.add_switch(parser, "--all-containers", default=False, help_="init containers included")
    parser.add_argument(
        "--tail", type=_lines, metavar="N", help="the last N of each (default: all)"
    )
    parser.add_argument(
        "--since", type=seconds_of, metavar="TIME", help="5s, 2m, 3h (default: all)"
    )
    flags.add_switch(
        parser, "--previous", "-p", default=False, help_="of the containers that ended before these"
    )
    flags.add_switch(parser, "--timestamps", default=False, help_="begin each line with its time")
    flags.add_switch(
        parser, "--prefix", default=None, help_="name the pod (default: when there are several)"
    )
    parser.add_argument(
        "--max-log-requests",
        type=_requests,
        default=_MOST,
        metavar="N",
        help=f"read no more at once (default: {_MOST})",
    )
    parser.set_defaults(run=lambda args: asyncio.run(_run(parser, args)))


def _lines(text: str) -> int | None:
    if text == "-1":
        return None
    if not text.isdecimal() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"expected a number, found {text!r}")
    return int(text)


def _requests(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 6 else 0
    if not 1 <= number <= _ROOM:
        raise argparse.ArgumentTypeError(f"expected 1 to {_ROOM}, found {text!r}")
    return number


async def _run(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    name = targets.name_of(parser, args.target)
    if args.follow and args.previous:
        parser.error("--follow and --previous exclude each other: what has ended says no more")
    if args.container and args.all_containers:
        parser.error("--container and --all-containers exclude each other")
    async with await ApiClient.connect(
        kubeconfig=args.kubeconfig, context=args.context, user_agent="levelset"
    ) as api:
        key = Key(args.namespace or api.namespace, name)
        try:
            await (_follow if args.follow else _print)(api, key, args)
        except ExceptionGroup as group:
            raise _first(group) from None
    return 0


async def _follow(api: ApiClient, key: Key, args: argparse.Namespace) -> None:
    write = partial(_write, has_prefix=args.prefix is not False, is_following=True)
    most = args.max_log_requests
    await log_reading.follow(
        api, key, _wish(args), most=most, clock=SYSTEM_CLOCK, write=write, note=_note
    )


async def _print(api: ApiClient, key: Key, args: argparse.Namespace) -> None:
    wish = _wish(args)
    found = await log_reading.look(api, key, wish, most=args.max_log_requests)
    has_prefix = len(found.sources) > 1 if args.prefix is None else args.prefix
    write = partial(_write, has_prefix=has_prefix)
    await log_reading.read_once(api, found.sources, wish, write=write, note=_note)
    sys.stdout.flush()
    for reason in found.waiting:
        _note(reason)


def _write(source: Source, line: bytes, *, has_prefix: bool, is_following: bool = False) -> None:
    sys.stdout.buffer.write(source.prefix + line if has_prefix else line)
    if is_following:
        sys.stdout.flush()


def _note(text: str) -> None:
    print(f"levelset: {text}", file=sys.stderr)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def _wish(args: argparse.Namespace) -> Wish:
    return Wish(
        container=args.container,
        all_containers=args.all_containers,
        is_following=args.follow,
        is_previous=args.previous,
        has_timestamps=args.timestamps,
        tail=args.tail,
        since_seconds=None if not args.since else math.ceil(args.since),
    )
