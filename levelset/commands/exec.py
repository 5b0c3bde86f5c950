"""`levelset exec`: a command in a ready pod of a Rollout's newest revision, by the real kubectl."""

import argparse
import asyncio
import sys
from typing import Final

from kube_runtime.api import ApiClient
from kube_runtime.resource import Key
from levelset.rollout import choosing, flags, handover, history, reading, targets
from levelset.rollout.snapshot import snapshot_of

_SUMMARY: Final = "run a command in a ready pod of a Rollout's newest revision"
_EXAMPLES: Final = """examples:
  levelset exec ro/web -- date
  levelset exec ro/web -it -- sh
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "exec",
        help=_SUMMARY,
        usage="%(prog)s [options] ROLLOUT -- COMMAND ...",
        description=f"{_SUMMARY[0].upper()}{_SUMMARY[1:]}; kubectl, which must be on PATH, does it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "target", type=targets.one, metavar="ROLLOUT", help="NAME, rollout/NAME or ro/NAME"
    )
    targets.add_namespace(parser)
    parser.add_argument("-c", "--container", default="", help="(default: the pod's default one)")
    flags.add_switch(parser, "--stdin", "-i", default=False, help_="pass standard input on")
    flags.add_switch(parser, "--tty", "-t", default=False, help_="standard input is a terminal")
    flags.add_switch(parser, "--quiet", "-q", default=False, help_="only what the command prints")
    parser.add_argument(
        "words", nargs="+", metavar="-- COMMAND", help="what to run, with its words"
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    words = asyncio.run(_words(args))
    sys.stdout.flush()
    handover.become_kubectl(words)


async def _words(args: argparse.Namespace) -> list[str]:
    async with await ApiClient.connect(
        kubeconfig=args.kubeconfig, context=args.context, user_agent="levelset"
    ) as api:
        key = Key(args.namespace or api.namespace, args.target)
        rollout = await reading.read(api, key)
        podsets = await reading.podsets_of(api, rollout)
        choice = choosing.pod_for_exec(
            key.name,
            await reading.pods_of(api, rollout, podsets),
            history.revisions(podsets),
            newest=snapshot_of(rollout).podset,
        )
    if choice.note and not args.quiet:
        print(f"levelset: {choice.note}", file=sys.stderr)
    words = handover.exec_words(
        choice.pod,
        args.words,
        container=args.container,
        has_stdin=args.stdin,
        has_tty=args.tty,
        is_quiet=args.quiet,
    )
    return handover.kubectl_words(
        words, namespace=key.namespace, kubeconfig=args.kubeconfig, context=args.context
    )
