"""What pods get without being asked for it, and how to say no: spec.defaults of both kinds.

The opt-outs are copied from the Rollout onto its PodSets; a change makes no new revision. Pure.
"""

from dataclasses import dataclass
from typing import Final

from kube_runtime.resource import Json


@dataclass(frozen=True, slots=True)
class PodDefaults:
    """Which of the defaults are wanted."""

    safe_to_evict: bool = True
    """Let the cluster autoscaler remove a node that a pod runs on."""
    topology_spread: bool = True
    """Spread the pods of a revision over nodes and zones where that can be."""

    @classmethod
    def from_json(cls, raw: Json | None) -> "PodDefaults":
        """Read spec.defaults; what is missing is wanted."""
        present = raw or {}
        return cls(
            safe_to_evict=present.get("safeToEvict", True),
            topology_spread=present.get("topologySpread", True),
        )

    def to_json(self) -> Json:
        """Write it as the CRDs declare it."""
        return {"safeToEvict": self.safe_to_evict, "topologySpread": self.topology_spread}


ALL_ON: Final = PodDefaults()
