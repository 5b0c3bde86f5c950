"""Ask the API server about everything before anything is applied.

Each object is dry-run as it would be applied; for one that makes pods, a Pod of its template is dry-run
too, since what admission says of pods is said long after the object itself was let in. Conflicts with
other field managers are collected before they are forced.
"""

import asyncio
import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gitops_agent.concurrently import for_each
from gitops_agent.diff.differ import Target
from gitops_agent.errors import PreflightFailed
from gitops_agent.names import FIELD_MANAGER
from gitops_agent.objects import GroupKind, ObjectId
from kube_runtime.api import ApiClient
from kube_runtime.errors import ApiError, Conflict, ServerError
from kube_runtime.resource import PODS, Json

_MESSAGE: Final = 600
_ACCOUNT_ATTEMPTS: Final = 6
_ACCOUNT_PAUSE_SECONDS: Final = 0.5
_ACCOUNT_MISSING: Final = "error looking up service account"
_QUOTA: Final = "exceeded quota"
_TEMPLATES: Final[Mapping[GroupKind, tuple[str, ...]]] = {
    GroupKind("apps", "Deployment"): ("spec", "template"),
    GroupKind("apps", "DaemonSet"): ("spec", "template"),
    GroupKind("apps", "ReplicaSet"): ("spec", "template"),
    GroupKind("apps", "StatefulSet"): ("spec", "template"),
    GroupKind("batch", "Job"): ("spec", "template"),
    GroupKind("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
    GroupKind("levelset.dev", "PodSet"): ("spec", "template"),
    GroupKind("levelset.dev", "Rollout"): ("spec", "template"),
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An object that the API server would not take, in its own words."""

    id: ObjectId
    message: str

    def __str__(self) -> str:
        return f"{self.id}: {self.message}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the dry runs have shown."""

    refusals: tuple[Refusal, ...] = ()
    forced: tuple[str, ...] = ()
    """Fields that belong to other managers and would be taken: object, field, manager."""


async def preflight(
    api: ApiClient, targets: Iterable[Target], *, running: Collection[ObjectId]
) -> Verdict:
    """Dry-run all targets; `running` are those that exist already."""

    async def ask(target: Target) -> Verdict:
        return await _ask(api, target, is_running=target.id in running)

    verdicts = await for_each(targets, ask)
    return Verdict(
        refusals=tuple(refusal for verdict in verdicts for refusal in verdict.refusals),
        forced=tuple(line for verdict in verdicts for line in verdict.forced),
    )


async def _ask(api: ApiClient, target: Target, *, is_running: bool) -> Verdict:
    forced: tuple[str, ...] = ()
    try:
        forced = await _dry_run(api, target)
        await _dry_run_pod(api, target, is_running=is_running)
    except ServerError as error:
        message = _shortened(target, error.message)
        raise PreflightFailed(f"nothing was applied: {target.id}: no verdict: {message}") from None
    except _RefusedPod as error:
        message = f"pods of its template would be refused: {error.message}"
        return Verdict((Refusal(target.id, _shortened(target, message)),))
    except ApiError as error:
        return Verdict((Refusal(target.id, _shortened(target, error.message)),))
    return Verdict(forced=forced)


class _RefusedPod(Exception):  # noqa: N818 - carries the message to the caller, nothing else
    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


async def _dry_run(api: ApiClient, target: Target) -> tuple[str, ...]:
    """Return the fields that would be taken from others."""
    if target.resource is None:
        return ()
    body, resource = target.manifest.body, target.resource
    try:
        await api.apply(resource, body, field_manager=FIELD_MANAGER, dry_run=True)
    except Conflict as error:
        conflicts = _conflicts(target.id, error)
        await api.apply(resource, body, field_manager=FIELD_MANAGER, dry_run=True, force=True)
        return conflicts
    return ()


def _conflicts(object_id: ObjectId, error: Conflict) -> tuple[str, ...]:
    causes: Sequence[Json] = error.details.get("causes") or ()
    return tuple(
        f"{object_id} {cause.get('field', '?')}: {cause.get('message', 'conflict')}"
        for cause in causes
    )


async def _dry_run_pod(api: ApiClient, target: Target, *, is_running: bool) -> None:
    pod = pod_of(target.manifest.body)
    if pod is None:
        return
    for attempt in range(1, _ACCOUNT_ATTEMPTS + 1):
        try:
            await api.create(PODS, pod, namespace=target.id.namespace, dry_run=True)
        except ServerError:
            raise
        except ApiError as error:
            if _ACCOUNT_MISSING in error.message and attempt < _ACCOUNT_ATTEMPTS:
                # A new namespace gets its default account a moment later, a declared one in this
                # very sync; without any account the admission chain stops before it speaks.
                pod["spec"].pop("serviceAccountName", None)
                pod["spec"].pop("serviceAccount", None)
                await asyncio.sleep(_ACCOUNT_PAUSE_SECONDS)
                continue
            if _ACCOUNT_MISSING in error.message or (is_running and _QUOTA in error.message):
                return  # one more pod beside the running ones says nothing about replacing them
            raise _RefusedPod(error.message) from error
        return


def pod_of(body: Json) -> Json | None:
    """Return a Pod as the object's controller would make it, or None where it makes none."""
    node: object = body
    for step in _TEMPLATES.get(GroupKind.of(body), ()):
        node = node.get(step) if isinstance(node, dict) else None
    if node is body or not isinstance(node, dict) or not isinstance(node.get("spec"), dict):
        return None
    metadata = node.get("metadata") or {}
    name = f"{body['metadata']['name'][:40].rstrip('-.')}-preflight-{secrets.token_hex(3)}"
    kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    spec = dict(node["spec"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **kept}, "spec": spec}


def _shortened(target: Target, message: str) -> str:
    return target.manifest.scrub(message)[:_MESSAGE]
