"""Writes a planned change; plans again on what is there when somebody wrote in between."""

from collections.abc import Awaitable, Callable
from typing import Final

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.errors import Conflict
from kube_runtime.resource import Json, Key
from levelset.rollout import reading
from levelset.rollout.changes import Change
from workloads import names

_FIELD_MANAGER: Final = "levelset-rollout"
# A rollout under way writes its status several times a second; each try takes a few milliseconds.
_TRIES: Final = 20

Plan = Callable[[Json], Awaitable[Change]]


async def write(api: ApiClient, key: Key, plan: Plan, *, dry_run: bool = False) -> Change:
    """Read, plan and write; raises what the plan raises, and Conflict when it never comes through."""
    tries = 0
    while True:
        change = await plan(await reading.read(api, key))
        if not change.patch:
            return change
        try:
            await api.patch(
                names.ROLLOUTS,
                key.name,
                change.patch,
                namespace=key.namespace,
                type=PatchType.JSON,
                field_manager=_FIELD_MANAGER,
                dry_run=dry_run,
            )
        except Conflict:
            tries += 1
            if tries >= _TRIES:
                raise
        else:
            return change
