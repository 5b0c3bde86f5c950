"""Everything that a trace is made of, as the API server gave it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kube_runtime.resource import Json, Uid


@dataclass(frozen=True, slots=True)
class Sources:
    """One look at a Rollout and all around it; raw, with managedFields."""

    rollout: Json
    podset: Json | None
    """The one of the present template."""
    pods: Sequence[Json] = ()
    """Those of the PodSet."""
    events: Sequence[Json] = ()
    """Of the Rollout, the PodSet and the pods; of core/v1, which shows those of all recorders."""
    slices: Sequence[Json] = ()
    services: Sequence[Json] = ()
    seen_serving: Mapping[Uid, datetime] = field(default_factory=dict)
    """When we saw the pod in an EndpointSlice for the first time, where we watched it come."""
