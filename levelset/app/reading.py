"""Read one Application, and wait for it to be as wished."""

import asyncio
from collections.abc import Callable
from typing import Final

from gitops_agent.names import APPLICATIONS
from kube_runtime import required_crds
from kube_runtime.api import ApiClient
from kube_runtime.errors import NotFound
from kube_runtime.resource import Json, Key, generation_of
from levelset.app.errors import NoSuchApplication, WaitedInVain

_LOOK_SECONDS: Final = 0.5

Lacks = Callable[[Json], str]
"""What an Application still lacks, as a phrase; empty when it is as wished."""


async def read(api: ApiClient, key: Key) -> Json:
    """Return the Application; raises NoSuchApplication, or what its kind lacks."""
    try:
        return await api.get(APPLICATIONS, key.name, namespace=key.namespace)
    except NotFound as error:
        await required_crds.check(api, [APPLICATIONS])
        raise NoSuchApplication(
            f"Application {key}: expected it in namespace {key.namespace!r}, found none; "
            "give the namespace with -n, or list all with: kubectl get applications -A"
        ) from error


async def wait(api: ApiClient, key: Key, lacks: Lacks, *, timeout_seconds: float) -> Json:
    """Look again and again until nothing is lacking; raises WaitedInVain with what still is."""
    missing = "a first look"
    try:
        async with asyncio.timeout(timeout_seconds):
            while True:
                application = await read(api, key)
                missing = lacks(application)
                if not missing:
                    return application
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError as error:
        raise WaitedInVain(
            f"Application {key}: waited {timeout_seconds:g} s in vain, {missing}"
        ) from error


def lacks_state(*, sync: bool, health: bool, revision: str | None) -> Lacks:
    """Make the question whether an Application is Synced, Healthy and at a revision, as asked."""

    def lacks(application: Json) -> str:
        status = application.get("status") or {}
        found_sync, found_health = status.get("sync") or {}, status.get("health") or {}
        if status.get("observedGeneration") != generation_of(application):
            return "its newest spec has not been looked at yet"
        if revision and not str(found_sync.get("revision", "")).startswith(revision):
            return f"it is at {found_sync.get('revision', 'no revision')}, not at {revision}"
        if sync and found_sync.get("status") != "Synced":
            return f"sync is {found_sync.get('status', 'Unknown')}: {ready_message(status)}"
        if health and found_health.get("status") != "Healthy":
            message = found_health.get("message", "")
            return f"health is {found_health.get('status', 'Unknown')}: {message}"
        return ""

    return lacks


def lacks_answer(request_id: str) -> Lacks:
    """Make the question whether a sync request has been answered."""

    def lacks(application: Json) -> str:
        operation = (application.get("status") or {}).get("operationState") or {}
        if operation.get("id") != request_id:
            return "the agent has not taken the request up; is it running?"
        return "the sync is running" if operation.get("phase") == "Running" else ""

    return lacks


def ready_message(status: Json) -> str:
    """Return what the Ready condition says."""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready":
            return str(condition.get("message", ""))
    return "no condition yet"
