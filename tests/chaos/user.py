"""Somebody who never rests: new templates, old ones again, other sizes, pauses, at random moments.

Steady Rollouts keep their size, so that every pod too many or too few shows; moving ones are
scaled and paused as well. An order that fails is not repeated: what the API server has counts.
"""

import asyncio
import random
from dataclasses import dataclass, field

from kube_runtime.api import ApiClient, PatchType
from kube_runtime.errors import KubeError
from kube_runtime.resource import Json
from tests.chaos.witness import Witness
from workloads.names import ROLLOUTS

MAX_SURGE = 2
MAX_UNAVAILABLE = 1
_SIZES = range(1, 10)


@dataclass
class User:
    """Gives orders to the Rollouts of one namespace."""

    api: ApiClient
    namespace: str
    witness: Witness
    rng: random.Random
    steady: tuple[str, ...]
    moving: tuple[str, ...]
    replicas: int = 6
    orders: int = 0
    _images: dict[str, int] = field(default_factory=dict)

    @property
    def apps(self) -> tuple[str, ...]:
        return (*self.steady, *self.moving)

    async def begin(self) -> None:
        """Create all Rollouts."""
        for app in self.apps:
            self._images[app] = 1
            self.witness.ask(app, self.replicas + MAX_SURGE)
            await self.api.create(ROLLOUTS, rollout(app, self.replicas), namespace=self.namespace)

    def are_complete(self) -> None:
        """From now on no steady Rollout may fall below its floor."""
        for app in self.steady:
            self.witness.floors[app] = self.replicas - MAX_UNAVAILABLE

    async def run(self, *, every_seconds: float) -> None:
        """Give orders until cancelled."""
        while True:
            await asyncio.sleep(self.rng.uniform(0, 2 * every_seconds))
            await self.order()

    async def order(self) -> None:
        """Give one order."""
        app = self.rng.choice(self.apps)
        change = self._change(app)
        try:
            await self.api.patch(
                ROLLOUTS, app, change, namespace=self.namespace, type=PatchType.MERGE
            )
        except KubeError:
            return
        self.orders += 1

    async def finish(self) -> None:
        """Take all pauses away; raises if the API server does not answer."""
        for app in self.moving:
            change = {"spec": {"paused": False}}
            await self.api.patch(
                ROLLOUTS, app, change, namespace=self.namespace, type=PatchType.MERGE
            )

    def _change(self, app: str) -> Json:
        dice = self.rng.random()
        if app in self.moving and dice < 0.4:
            size = self.rng.choice(_SIZES)
            self.witness.ask(app, size + MAX_SURGE)
            return {"spec": {"replicas": size}}
        if app in self.moving and dice < 0.5:
            return {"spec": {"paused": self.rng.random() < 0.5}}
        return {"spec": {"template": template(app, self._image(app))}}

    def _image(self, app: str) -> int:
        """Choose a new template, or go back to one of the last few."""
        newest = self._images[app]
        if self.rng.random() < 0.4:
            return max(1, newest - self.rng.randrange(4))
        self._images[app] = newest + 1
        return newest + 1


def rollout(app: str, replicas: int, **spec: object) -> Json:
    return {
        "apiVersion": ROLLOUTS.api_version,
        "kind": ROLLOUTS.kind,
        "metadata": {"name": app},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": app}},
            "strategy": {
                "rollingUpdate": {"maxSurge": MAX_SURGE, "maxUnavailable": MAX_UNAVAILABLE}
            },
            # Nothing is forgotten by right, so whatever is missing was lost.
            "revisionHistoryLimit": 1000,
            "template": template(app, 1),
            **spec,
        },
    }


def template(app: str, image: int) -> Json:
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "web", "image": f"registry.example/web:{image}"}],
        },
    }
