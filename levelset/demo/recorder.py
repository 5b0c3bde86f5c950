"""Watches the pods of a namespace and keeps how many there are of each revision, ready and not, over time.

The rolling update step starts it, the picture shows what it saw. It only reads.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NewType

from kube_runtime.api import ApiClient
from kube_runtime.informer import Informer
from kube_runtime.resource import PODS, Json, is_deleting

Phase = NewType("Phase", str)
READY, STARTING, LEAVING = Phase("ready"), Phase("starting"), Phase("leaving")
PHASES = (READY, STARTING, LEAVING)


@dataclass(frozen=True, slots=True)
class Moment:
    """How many pods there were of each (revision, phase); `at` is Unix time."""

    at: float
    pods: Mapping[tuple[str, Phase], int]

    def count(self, phase: Phase) -> int:
        """Count the pods of all revisions in a phase."""
        return sum(number for (_, found), number in self.pods.items() if found == phase)


def phase_of(pod: Json) -> Phase:
    """Say how far a pod is: leaving once it is deleted, ready by its condition, else starting."""
    if is_deleting(pod):
        return LEAVING
    conditions = pod.get("status", {}).get("conditions", [])
    is_ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    return READY if is_ready else STARTING


def count_pods(pods: Iterable[Json], names: Mapping[str, str]) -> Mapping[tuple[str, Phase], int]:
    """Count pods by revision and phase; `names` maps an image digest to what people call it."""
    return Counter((_revision(pod, names), phase_of(pod)) for pod in pods)


def _revision(pod: Json, names: Mapping[str, str]) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    digest = image.rpartition("@")[2]
    return names.get(digest, digest[:19])


@dataclass(slots=True)
class Recorder:
    """Records while `run` runs."""

    api: ApiClient
    namespace: str
    names: dict[str, str] = field(default_factory=dict)
    moments: list[Moment] = field(default_factory=list)

    async def run(self) -> None:
        """Watch until cancelled."""
        informer = Informer(self.api, PODS, namespace=self.namespace)

        def changed(_old: Json | None, _new: Json | None) -> None:
            pods = count_pods(informer.store.list(), self.names)
            self.moments.append(Moment(time.time(), pods))

        informer.on_change(changed)
        await informer.run()
