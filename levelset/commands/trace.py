"""`levelset trace`: the journey of the last change of a Rollout, as a timeline with durations."""

# ruff: noqa: A005 - only reachable as levelset.commands.trace, so nothing is shadowed

import argparse
import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final

from rich.console import Console
from rich.live import Live

from kube_runtime.api import ApiClient
from kube_runtime.clock import SYSTEM_CLOCK
from kube_runtime.resource import Key, Uid
from levelset.rollout import flags, targets
from levelset.trace.documents import document_of
from levelset.trace.gathering import gather
from levelset.trace.model import Journey
from levelset.trace.pod_marks import serving_uids
from levelset.trace.rendering import render
from levelset.trace.timeline import journey_of

_SUMMARY: Final = "where the time of a Rollout's last change went, and what is slow or stuck"
_EXAMPLES: Final = """examples:
  levelset trace ro/web             # the slowest pod, beside the median
  levelset trace ro/web --pods      # and every pod
  levelset trace ro/web -w          # while it goes on
  levelset trace ro/web -o json | jq '.pods[].seconds'

Times in a cluster are whole seconds; "<1 s" is what two equal ones are apart.
"""
_PLAIN_WIDTH: Final = 140
_LOOK_SECONDS: Final = 0.5


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command."""
    parser = subparsers.add_parser(
        "trace",
        help=_SUMMARY,
        usage="%(prog)s [options] ROLLOUT",
        description=f"Tells {_SUMMARY}: from the template over scheduling, image and start to traffic.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    targets.add_target(parser)
    flags.add_switch(parser, "--pods", default=False, help_="list every pod with its stages")
    flags.add_switch(parser, "--watch", "-w", default=False, help_="until all pods have arrived")
    parser.add_argument("-o", "--output", choices=("json",), help="(default: a timeline)")
    parser.set_defaults(run=lambda args: asyncio.run(_run(parser, args)))


async def _run(parser: argparse.ArgumentParser, args: argparse.Namespace) -> int:
    name = targets.name_of(parser, args.target)
    console = Console()
    is_live = args.watch and args.output is None and console.is_terminal
    if not console.is_terminal:
        console = Console(width=max(console.width, _PLAIN_WIDTH))
    async with await ApiClient.connect(
        kubeconfig=args.kubeconfig, context=args.context, user_agent="levelset"
    ) as api:
        key = Key(args.namespace or api.namespace, name)
        if not args.watch:
            journey = await _look(api, key)
        elif is_live:
            with Live(console=console, refresh_per_second=4) as screen:
                draw = partial(render, with_pods=args.pods)
                journey = await _watch(api, key, lambda seen: screen.update(draw(seen)))
        else:
            journey = await _watch(api, key, lambda _: None)
    if args.output == "json":
        print(json.dumps(document_of(journey), indent=2))
    elif not is_live:
        console.print(render(journey, with_pods=args.pods))
    return 0


async def _look(api: ApiClient, key: Key) -> Journey:
    sources = await gather(api, key)
    return journey_of(sources, now=SYSTEM_CLOCK.now())


async def _watch(api: ApiClient, key: Key, show: Callable[[Journey], None]) -> Journey:
    """Trace again and again, noting when each pod comes into an EndpointSlice."""
    seen: dict[Uid, datetime] = {}
    known: set[Uid] | None = None  # served when we came, or has been noted
    while True:
        sources = await gather(api, key, seen_serving=seen)
        now = SYSTEM_CLOCK.now()
        serving = serving_uids(sources.slices)
        seen |= {} if known is None else dict.fromkeys(serving - known, now)
        known = (known or set()) | serving
        journey = journey_of(sources, now=now)
        show(journey)
        if journey.is_complete and all(each.waits is None for each in journey.pods):
            return journey
        await SYSTEM_CLOCK.sleep(_LOOK_SECONDS)
