"""`levelset cluster`: a Kubernetes cluster on this machine, up and down."""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from local_cluster.embedded import EmbeddedProvider
from local_cluster.errors import ClusterError
from local_cluster.existing import ExistingProvider
from local_cluster.provider import DEFAULT_NAME, ClusterPlan, Provider

_Run = Callable[[argparse.Namespace], int]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the group and its verbs."""
    group = subparsers.add_parser("cluster", help="a Kubernetes cluster on this machine")
    verbs = group.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    up = _verb(verbs, "up", _up, "make the cluster, or repair it")
    up.add_argument("--nodes", type=_count, default=3, help="real nodes, needs root (default: 3)")
    up.add_argument("--simulated-nodes", type=_count, default=0, metavar="M", help="(default: 0)")
    up.add_argument("--kubernetes-version", metavar="V", help="default: the pinned version")
    _verb(verbs, "down", _down, "take away all that belongs to the cluster")
    _verb(verbs, "status", _status, "tell how the cluster is; exit code 1 unless it is up")
    load = _verb(verbs, "load-image", _load_image, "put an image onto every real node")
    load.add_argument("image", type=Path, help="docker or OCI archive, or a folder in OCI layout")
    _verb(verbs, "kubeconfig", _kubeconfig, "print the path of the kubeconfig")


def _verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, run: _Run, summary: str
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=summary, description=summary)
    parser.add_argument("--name", default=DEFAULT_NAME, help=f"(default: {DEFAULT_NAME})")
    parser.add_argument(
        "--provider",
        choices=("embedded", "existing", "kind"),
        default="embedded",
        help="embedded: programs on this machine; existing: $KUBECONFIG (default: embedded)",
    )
    parser.set_defaults(run=run)
    return parser


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected 0 or more, found {text!r}")
    return int(text)


def _provider(args: argparse.Namespace) -> Provider:
    if args.provider == "kind":
        raise ClusterError(
            "provider kind is not there yet; use --provider embedded, or make the cluster with"
            " `kind create cluster` and use --provider existing"
        )
    if args.provider == "existing":
        return ExistingProvider(args.kubeconfig, args.context)
    return EmbeddedProvider()


def _up(args: argparse.Namespace) -> int:
    plan = ClusterPlan(args.name, args.nodes, args.simulated_nodes, args.kubernetes_version)
    cluster = _provider(args).up(plan, _Reporter())
    print(f"export KUBECONFIG={cluster.kubeconfig}")
    return 0


def _down(args: argparse.Namespace) -> int:
    _provider(args).down(args.name, _Reporter())
    return 0


def _status(args: argparse.Namespace) -> int:
    status = _provider(args).status(args.name)
    print(f"cluster {status.name} ({status.provider}): {status.state}")
    for line in status.details:
        print(f"  {line}")
    return 0 if status.state == "up" else 1


def _load_image(args: argparse.Namespace) -> int:
    _provider(args).load_image(args.name, args.image, _Reporter())
    return 0


def _kubeconfig(args: argparse.Namespace) -> int:
    print(_provider(args).kubeconfig(args.name))
    return 0


class _Reporter:
    """Prints progress with the seconds since the start, so that output can still be piped."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def __call__(self, line: str) -> None:
        print(f"{time.monotonic() - self._started:5.1f} s  {line}", file=sys.stderr, flush=True)
