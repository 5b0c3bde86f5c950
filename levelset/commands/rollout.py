"""`levelset rollout`: what `kubectl rollout` is for built-in kinds, for Rollouts."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from rich.console import Console

from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK
from kube_runtime.errors import LevelsetError
from kube_runtime.resource import Json, Key
from levelset.rollout import changes, configs, flags, following, history, reading, targets
from levelset.rollout.changes import Change
from levelset.rollout.following import Display
from levelset.rollout.history import Revision
from levelset.rollout.lines import Lines
from levelset.rollout.live import Live
from levelset.rollout.snapshot import snapshot_of
from levelset.rollout.spans import seconds_of
from levelset.rollout.writing import write

_SUMMARY: Final = "look at a Rollout's progress and history, undo, pause, resume, restart, retry"
_EXAMPLES: Final = """examples:
  levelset rollout status ro/web --timeout=5m     # until it is done; 1 if it fails
  levelset rollout history ro/web --revision=2    # the pod template of a revision
  levelset rollout undo ro/web                    # back to the revision before
  levelset rollout resume ro/web                  # also from a pause step
"""

_Verb = Callable[[ApiClient, Key, argparse.Namespace], Awaitable[None]]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the group and its verbs."""
    group = subparsers.add_parser(
        "rollout",
        help=_SUMMARY,
        description=f"{_SUMMARY[0].upper()}{_SUMMARY[1:]}; as `kubectl rollout` for Deployments.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verbs = group.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    _add_status(verbs)
    _add_history(verbs)
    _add_undo(verbs)
    for name, plan, summary in (
        ("pause", changes.pause, "hold it where it is; scaling goes on"),
        ("resume", changes.resume, "let it go on, after pause or from a pause step"),
        ("restart", partial(changes.restart, now=_now()), "replace every pod, by the strategy"),
        ("retry", partial(changes.retry, now=_now()), "roll a held revision out once more"),
    ):
        _verb(verbs, name, partial(_write, plan), summary, several=True)


def _add_status(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    status = _verb(verbs, "status", _status, "show how it goes, until it is done; 1 if it fails")
    flags.add_switch(status, "--watch", "-w", default=True, help_="until it is done (default: yes)")
    status.add_argument(
        "--timeout", type=seconds_of, default=0, metavar="TIME", help="30s, 5m (default: no limit)"
    )
    status.add_argument(
        "--revision", type=_revision, default=0, metavar="N", help="fail when it is another one's"
    )


def _add_history(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _verb(verbs, "history", _history, "list its revisions, or show the template of one")
    parser.add_argument(
        "--revision", type=_revision, default=0, metavar="N", help="show its pod template"
    )


def _add_undo(verbs: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = _verb(
        verbs, "undo", _undo, "write the template of an earlier revision back", several=True
    )
    parser.add_argument(
        "--to-revision", type=_revision, default=0, metavar="N", help="(default: the one before)"
    )
    flags.add_choice(
        parser,
        "--dry-run",
        choices=("none", "client", "server"),
        bare="client",
        help_="only show the template; with =server: have it checked without writing (default: none)",
    )


def _verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    act: _Verb,
    summary: str,
    *,
    several: bool = False,
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        usage=f"%(prog)s [options] ROLLOUT{' ...' * several}",
    )
    targets.add_target(parser, several=several)

    def run(args: argparse.Namespace) -> int:
        found = targets.names_of(args.target)
        if not several:
            targets.name_of(parser, args.target)
        return asyncio.run(_connected(act, found, args))

    parser.set_defaults(run=run)
    return parser


async def _connected(act: _Verb, found: list[str], args: argparse.Namespace) -> int:
    async with await ApiClient.connect(
        kubeconfig=args.kubeconfig, context=args.context, user_agent="levelset"
    ) as api:
        keys = [Key(args.namespace or api.namespace, name) for name in found]
        failed = sum([not await _or_tell(act, api, key, args) for key in keys[:-1]])
        await act(api, keys[-1], args)
    return 1 if failed else 0


async def _or_tell(act: _Verb, api: ApiClient, key: Key, args: argparse.Namespace) -> bool:
    """Do it for one of several: a failure is told, and the others are done all the same."""
    try:
        await act(api, key, args)
    except LevelsetError as error:
        print(f"levelset: {error.diagnostics()}", file=sys.stderr)
        return False
    return True


async def _status(api: ApiClient, key: Key, args: argparse.Namespace) -> None:
    console = Console()
    if not args.watch:
        await following.look(api, key, Lines(_line), revision=args.revision)
    elif console.is_terminal and not console.is_dumb_terminal:
        with Live(console, clock=SYSTEM_CLOCK) as display:
            await _follow(api, key, args, display)
    else:
        await _follow(api, key, args, Lines(_line))


async def _follow(api: ApiClient, key: Key, args: argparse.Namespace, show: Display) -> None:
    await following.follow(
        api,
        key,
        show,
        clock=SYSTEM_CLOCK,
        revision=args.revision,
        timeout_seconds=args.timeout,
    )


async def _history(api: ApiClient, key: Key, args: argparse.Namespace) -> None:
    rollout = await reading.read(api, key)
    seen = snapshot_of(rollout)
    there = history.revisions(await reading.podsets_of(api, rollout))
    if args.revision:
        print(history.detail(seen, history.find(there, args.revision)))
    else:
        print(history.table(seen, there))


async def _undo(api: ApiClient, key: Key, args: argparse.Namespace) -> None:
    if args.dry_run == "client":
        rollout = await reading.read(api, key)
        wanted = _wanted(rollout, await reading.podsets_of(api, rollout), args)
        text = history.template_text(wanted.template, change_cause=wanted.change_cause)
        print(f"{changes.shown_name(rollout)} {text} (dry run)")
        return

    async def plan(rollout: Json) -> Change:
        podsets = await reading.podsets_of(api, rollout)
        wanted = _wanted(rollout, podsets, args)
        present = changes.present_podset(snapshot_of(rollout), podsets)
        unsettled = configs.unsettled(wanted.podset, present)
        live = await reading.versions_of(api, key.namespace, unsettled)
        return changes.undo(rollout, podsets, wanted, live=live)

    is_dry = args.dry_run == "server"
    _tell(key, await write(api, key, plan, dry_run=is_dry), is_dry=is_dry)


def _wanted(rollout: Json, podsets: Sequence[Json], args: argparse.Namespace) -> Revision:
    return changes.revision_to_undo_to(snapshot_of(rollout), podsets, to_revision=args.to_revision)


async def _write(
    change: Callable[[Json], Change], api: ApiClient, key: Key, args: argparse.Namespace
) -> None:
    del args

    async def plan(rollout: Json) -> Change:
        return change(rollout)

    _tell(key, await write(api, key, plan))


def _tell(key: Key, change: Change, *, is_dry: bool = False) -> None:
    print(f"{targets.SHOWN}/{key.name} {change.said}{' (server dry run)' * is_dry}")
    if change.note:
        print(f"levelset: {change.note}", file=sys.stderr)


def _line(text: str) -> None:
    print(text, flush=True)


def _revision(text: str) -> int:
    if not text.isdecimal() or not text.isascii():
        raise argparse.ArgumentTypeError(f"expected the number of a revision, found {text!r}")
    return int(text[:18])


def _now() -> datetime:
    return datetime.now(UTC)
