"""A namespace with restless Rollouts, a witness and processes to do harm to; one scenario each."""

import asyncio
import contextlib
import os
import random
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from kube_runtime.api import ApiClient
from kube_runtime.errors import AlreadyExists
from kube_runtime.resource import NAMESPACES, SERVICE_ACCOUNTS
from local_cluster.control_plane import ControlPlane
from tests.chaos.end_state import is_level
from tests.chaos.replicas import Replicas, replicas
from tests.chaos.tally import Tally
from tests.chaos.user import User
from tests.chaos.witness import Witness

_DRAWN_SEEDS = 2**32


def seed(default: int | None = None) -> int:
    """Take the seed of the run: $LEVELSET_CHAOS_SEED, else the default, else a drawn one."""
    asked = os.environ.get("LEVELSET_CHAOS_SEED")
    if asked:
        return int(asked)
    return secrets.randbelow(_DRAWN_SEEDS) if default is None else default


@dataclass
class Scene:
    """What a scenario plays with."""

    api: ApiClient
    namespace: str
    replicas: Replicas
    user: User
    witness: Witness
    tally: Tally
    rng: random.Random

    async def is_level(self, *, seconds: float = 120.0) -> None:
        """Wait until everything is as the user asked for."""
        await is_level(self.api, self.namespace, self.user.apps, self.tally, seconds=seconds)


@asynccontextmanager
async def scene(
    tally: Tally,
    api: ApiClient,
    directory: Path,
    *,
    kubeconfigs: Sequence[Path],
    steady: int = 4,
    moving: int = 2,
    namespace: str = "",
) -> AsyncIterator[Scene]:
    """Make a namespace with complete Rollouts and running controllers, and watch over the block."""
    namespace = namespace or await new_namespace(api)
    rng = random.Random(tally.seed)
    witness = Witness(api, namespace, tally)
    user = User(
        api,
        namespace,
        witness,
        rng,
        steady=tuple(f"steady-{number}" for number in range(steady)),
        moving=tuple(f"moving-{number}" for number in range(moving)),
    )
    async with (
        replicas(api, namespace, directory, kubeconfigs=kubeconfigs) as running,
        witness.watching(),
    ):
        played = Scene(api, namespace, running, user, witness, tally, rng)
        await user.begin()
        await played.is_level()
        user.are_complete()
        yield played


@asynccontextmanager
async def busy(user: User, *, every_seconds: float = 0.5) -> AsyncIterator[None]:
    """Let the user give orders until the end of the block."""
    task = asyncio.create_task(user.run(every_seconds=every_seconds))
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def new_namespace(api: ApiClient) -> str:
    """Create a namespace in which pods can be created at once."""
    name = f"chaos-{secrets.token_hex(4)}"
    await api.create(NAMESPACES, {"metadata": {"name": name}})
    account = {"metadata": {"name": "default", "namespace": name}}
    with contextlib.suppress(AlreadyExists):  # its controller may be faster
        await api.create(SERVICE_ACCOUNTS, account)
    return name


def users(plane: ControlPlane, count: int) -> list[Path]:
    """Make administrators for so many processes, to be told apart in the audit log."""
    return [plane.user(f"replica-{number}", groups=["system:masters"]) for number in range(count)]
