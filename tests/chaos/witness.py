"""Watches a namespace while faults happen, and checks at every event what must hold at every instant.

Never more active pods of a Rollout than replicas + maxSurge; never fewer ready ones than
replicas - maxUnavailable once it was complete; never two PodSets for one template; no PodSet lost;
no revision number twice. It has watches of its own, which go on where they were cut.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

from kube_runtime.api import ApiClient
from kube_runtime.errors import Gone, KubeError
from kube_runtime.resource import PODS, Json, Resource, is_deleting, labels_of, uid_of
from tests.chaos.tally import Tally
from tests.contract.workloads.world import image_of, revision
from workloads.names import PODSETS, ROLLOUTS

# How long after a change of the spec a controller may still act on the former one: when each leader
# dies before it has told the PodSets, they are kept at their former sizes meanwhile.
_LAG_SECONDS = 60.0
_ENDED = ("Succeeded", "Failed")


@dataclass
class _Bound:
    """How many active pods there may be, by what is asked for and what was a moment ago."""

    current: int = 0
    earlier: list[tuple[float, int]] = field(default_factory=list)

    def ask(self, most: int) -> None:
        self.earlier.append((time.monotonic() + _LAG_SECONDS, most))

    def see(self, most: int) -> None:
        if most != self.current:
            self.ask(self.current)
            self.current = most

    def most(self) -> int:
        now = time.monotonic()
        self.earlier = [(until, most) for until, most in self.earlier if until > now]
        return max([self.current, *(most for _, most in self.earlier)])


@dataclass
class Witness:
    """Everything that was seen of one namespace's Rollouts."""

    api: ApiClient
    namespace: str
    tally: Tally
    floors: dict[str, int] = field(default_factory=dict)
    """How many pods must stay ready, for Rollouts that were complete once and keep their size."""
    pod_has_changed: asyncio.Event = field(default_factory=asyncio.Event)
    _bounds: dict[str, _Bound] = field(default_factory=dict)
    _pods: dict[str, tuple[str, bool]] = field(default_factory=dict)
    _podsets: dict[str, Json] = field(default_factory=dict)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator["Witness"]:
        """Watch until the end of the block; what was violated fails the block."""
        follows: list[tuple[Resource, Callable[[str, Json], None]]] = [
            (ROLLOUTS, self._rollout),
            (PODSETS, self._podset),
            (PODS, self._pod),
        ]
        tasks = [asyncio.create_task(self._follow(*follow)) for follow in follows]
        try:
            yield self
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert self.tally.violations == []

    def ask(self, app: str, most: int) -> None:
        """Hear of a size right before it is asked for."""
        self._bounds.setdefault(app, _Bound()).ask(most)

    def active(self, app: str) -> int:
        return sum(owner == app for owner, _ in self._pods.values())

    def ready(self, app: str) -> int:
        return sum(owner == app and is_ready for owner, is_ready in self._pods.values())

    async def _follow(self, resource: Resource, note: Callable[[str, Json], None]) -> None:
        version = ""
        while True:
            try:
                if not version:
                    version = await self._list(resource, note)
                watch = self.api.watch(resource, namespace=self.namespace, resource_version=version)
                async for event in watch:
                    version = event.object["metadata"]["resourceVersion"]
                    if event.type != "BOOKMARK":
                        note(event.type, event.object)
            except Gone:
                version = ""
            except KubeError:
                await asyncio.sleep(0.2)

    async def _list(self, resource: Resource, note: Callable[[str, Json], None]) -> str:
        listed = await self.api.list(resource, namespace=self.namespace)
        for obj in listed.items:
            note("LISTED", obj)
        if resource == PODS:
            present = {uid_of(pod) for pod in listed.items}
            self._pods = {uid: seen for uid, seen in self._pods.items() if uid in present}
        return listed.resource_version

    def _rollout(self, type_: str, rollout: Json) -> None:
        bound = self._bounds.setdefault(rollout["metadata"]["name"], _Bound())
        bound.see(0 if type_ == "DELETED" else most_pods(rollout))

    def _pod(self, type_: str, pod: Json) -> None:
        self.pod_has_changed.set()
        app, uid = labels_of(pod).get("app", ""), uid_of(pod)
        is_ended = (pod.get("status") or {}).get("phase") in _ENDED
        if type_ == "DELETED" or is_deleting(pod) or is_ended:
            _, was_ready = self._pods.pop(uid, ("", False))
            if was_ready and app in self.floors:
                self._check_floor(app)
            return
        is_new = uid not in self._pods
        self._pods[uid] = (app, _is_ready(pod))
        if is_new:
            self._check_ceiling(app)

    def _check_ceiling(self, app: str) -> None:
        active, most = self.active(app), self._bounds.setdefault(app, _Bound()).most()
        self.tally.check(
            "pods over",
            holds=active <= most,
            otherwise=f"{_now()} {app}: {active} active pods, expected at most {most}",
        )

    def _check_floor(self, app: str) -> None:
        ready, fewest = self.ready(app), self.floors[app]
        self.tally.check(
            "pods under",
            holds=ready >= fewest,
            otherwise=f"{_now()} {app}: {ready} ready pods, expected at least {fewest}",
        )

    def _podset(self, type_: str, podset: Json) -> None:
        uid, name = uid_of(podset), podset["metadata"]["name"]
        self.tally.check(
            "revisions kept",
            holds=type_ != "DELETED",
            otherwise=f"{_now()} PodSet {name} was deleted",
        )
        self._podsets[uid] = podset
        app = labels_of(podset)["app"]
        siblings = [other for other in self._podsets.values() if labels_of(other)["app"] == app]
        images = [image_of(sibling) for sibling in siblings]
        self.tally.check(
            "one PodSet a template",
            holds=len(images) == len(set(images)),
            otherwise=f"{_now()} {app}: PodSets of {sorted(images)}",
        )
        numbers = [number for sibling in siblings if (number := revision(sibling)) is not None]
        self.tally.check(
            "one number a revision",
            holds=len(numbers) == len(set(numbers)),
            otherwise=f"{_now()} {app}: revisions {sorted(numbers)}",
        )


def most_pods(rollout: Json) -> int:
    """Tell how many active pods a Rollout of these scenarios may have: all its sizes are numbers."""
    spec = rollout["spec"]
    surge: int = spec["strategy"]["rollingUpdate"]["maxSurge"]
    replicas: int = spec["replicas"]
    return replicas + surge if replicas else 0


def _is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)


def _now() -> str:
    return datetime.now(UTC).time().isoformat(timespec="milliseconds")
