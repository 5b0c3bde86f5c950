"""Which kinds are exported, and what of each: the conditions on its allow-list, its own families.

A kind's conditions are few and named here, so that no controller, and no user who may write a
status, can add series by adding condition types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from exporters.state import lines
from exporters.state.store import Lines
from kube_runtime.resource import Json, Resource

_GROUP: Final = "levelset.dev"
_VERSION: Final = "v1alpha1"
_KSTATUS: Final = ("Ready", "Reconciling", "Stalled")


@dataclass(frozen=True, slots=True)
class WatchedKind:
    """A kind that is watched, and how its objects read."""

    resource: Resource
    conditions: Sequence[str] = _KSTATUS
    extras: Sequence[lines.Extra] = ()

    @property
    def name(self) -> str:
        """The kind."""
        return self.resource.kind

    def render(self, obj: Json) -> Lines:
        """Render one object of the kind."""
        return lines.render(self.resource, obj, conditions=self.conditions, extras=self.extras)


WATCHED_KINDS: Final[Sequence[WatchedKind]] = (
    WatchedKind(
        Resource(_GROUP, _VERSION, "rollouts", "Rollout"),
        conditions=(*_KSTATUS, "Available", "Progressing", "ReplicaFailure"),
        extras=(lines.suspended("paused"), lines.replicas),
    ),
    WatchedKind(
        Resource(_GROUP, _VERSION, "podsets", "PodSet"),
        conditions=(*_KSTATUS, "ReplicaFailure"),
        extras=(lines.replicas,),
    ),
    WatchedKind(
        Resource(_GROUP, _VERSION, "applications", "Application"),
        extras=(lines.application,),
    ),
    WatchedKind(Resource(_GROUP, _VERSION, "imagepolicies", "ImagePolicy")),
    WatchedKind(
        Resource(_GROUP, _VERSION, "clusterimagepolicies", "ClusterImagePolicy", namespaced=False)
    ),
)
