"""`levelset app`: look at Applications, compare them with Git, sync them, wait for them."""

import argparse
import asyncio
import json
import secrets
import shutil
import sys
import traceback
from collections.abc import Awaitable, Callable
from typing import Final

import yaml

from gitops_agent.names import APPLICATIONS, SYNC_ANNOTATION
from gitops_agent.source.refs import check_revision
from kube_runtime.api import ApiClient, PatchType
from kube_runtime.errors import LevelsetError
from kube_runtime.resource import Json, Key
from levelset.app import reading
from levelset.app.errors import AppError, SyncFailed
from levelset.app.view import view

_DIFF_FAILED: Final = 3
_MOST_SECONDS: Final = 1e6

_Act = Callable[[ApiClient, Key, argparse.Namespace], Awaitable[int]]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the group and its verbs."""
    group = subparsers.add_parser("app", help="look at Applications, compare, sync, wait")
    verbs = group.add_subparsers(title="verbs", dest="verb", metavar="VERB", required=True)
    get = _verb(verbs, "get", _get, "show an Application and its objects")
    get.add_argument("-o", "--output", choices=("wide", "json", "yaml"), help="(default: a table)")
    diff = _verb(
        verbs,
        "diff",
        _diff,
        "print how the cluster differs from Git; exit code 1 if it does, 3 if that cannot be told",
    )
    diff.add_argument("--revision", metavar="REF", help="compare with this instead of the target")
    diff.add_argument("--kustomize", metavar="PROGRAM", help="(default: found on PATH)")
    diff.add_argument(
        "--exit-code",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="exit with 1 when there is a difference (default: yes)",
    )
    sync = _verb(verbs, "sync", _sync, "ask for a sync; with --wait, exit code 1 if it fails")
    sync.add_argument("--revision", metavar="REF", help="only where nothing is automated")
    sync.add_argument(
        "--prune", action="store_true", help="delete what left Git, also what was held back"
    )
    sync.add_argument("--wait", action="store_true", help="until the sync has ended")
    _add_timeout(sync)
    wait = _verb(verbs, "wait", _wait, "wait until it is Synced and Healthy; exit code 1 if not")
    wait.add_argument("--sync", action="store_true", help="only until it is Synced")
    wait.add_argument("--health", action="store_true", help="only until it is Healthy")
    wait.add_argument("--revision", metavar="COMMIT", help="and at this commit")
    _add_timeout(wait)


def _verb(
    verbs: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, act: _Act, summary: str
) -> argparse.ArgumentParser:
    parser = verbs.add_parser(name, help=summary, description=summary)
    parser.add_argument("name", metavar="NAME", help="of the Application")
    parser.add_argument("-n", "--namespace", help="(default: that of the kubeconfig's context)")
    parser.set_defaults(run=lambda args: asyncio.run(_connected(act, args)))
    return parser


def _add_timeout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--timeout", type=_seconds, default=300.0, metavar="SECONDS", help="(default: 300)"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text.removesuffix("s"))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < _MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"expected seconds, more than 0, found {text!r}")
    return seconds


async def _connected(act: _Act, args: argparse.Namespace) -> int:
    async with await ApiClient.connect(
        kubeconfig=args.kubeconfig, context=args.context, user_agent="levelset"
    ) as api:
        return await act(api, Key(args.namespace or api.namespace, args.name), args)


async def _get(api: ApiClient, key: Key, args: argparse.Namespace) -> int:
    application = await reading.read(api, key)
    application["metadata"].pop("managedFields", None)
    if args.output == "json":
        print(json.dumps(application, indent=2))
    elif args.output == "yaml":
        print(yaml.safe_dump(application, sort_keys=False), end="")
    else:
        print(view(application, is_wide=args.output == "wide"))
    return 0


async def _diff(api: ApiClient, key: Key, args: argparse.Namespace) -> int:
    try:
        if shutil.which("git") is None:
            raise AppError("app diff needs git, which is not on PATH; install git")
        from levelset.app import comparing  # noqa: PLC0415 - GitPython's import fails without git

        application = await reading.read(api, key)
        found = await comparing.differences(
            api, application, revision=args.revision, kustomize=args.kustomize
        )
    except LevelsetError as error:
        # Not 1, which says that the comparison was made: a script must tell the two apart.
        if args.debug:
            traceback.print_exception(error)
        print(f"levelset: {error.diagnostics()}", file=sys.stderr)
        return _DIFF_FAILED
    for diff in found:
        print(diff.text, end="")
    return 1 if found and args.exit_code else 0


async def _sync(api: ApiClient, key: Key, args: argparse.Namespace) -> int:
    request = {"id": secrets.token_hex(8), "prune": args.prune}
    if args.revision:
        request["revision"] = check_revision(args.revision)
    await reading.read(api, key)
    await api.patch(
        APPLICATIONS,
        key.name,
        {"metadata": {"annotations": {SYNC_ANNOTATION: json.dumps(request)}}},
        namespace=key.namespace,
        type=PatchType.MERGE,
        field_manager="levelset-cli",
    )
    if not args.wait:
        print(f"sync {request['id']} of Application {key} requested")
        return 0
    answered = reading.lacks_answer(str(request["id"]))
    return _ended(key, await reading.wait(api, key, answered, timeout_seconds=args.timeout))


def _ended(key: Key, application: Json) -> int:
    operation = application["status"]["operationState"]
    if operation["phase"] != "Succeeded":
        raise SyncFailed(f"Application {key}: the sync failed: {operation.get('message', '')}")
    print(f"Application {key} synced to {operation['revision']}: {operation.get('message', '')}")
    return 0


async def _wait(api: ApiClient, key: Key, args: argparse.Namespace) -> int:
    both = not args.sync and not args.health
    wished = reading.lacks_state(
        sync=args.sync or both, health=args.health or both, revision=args.revision
    )
    application = await reading.wait(api, key, wished, timeout_seconds=args.timeout)
    status = application["status"]
    health = (status.get("health") or {}).get("status", "Unknown")
    print(f"Application {key} is {status['sync']['status']} and {health}")
    return 0
