"""What stands in a Lease, and the decisions about it; the elector in lease.py does the I/O.

Dates in a Lease are for people and other programs: nothing here compares them with our clock.
Whether a holder is still alive is told by its record changing, measured by our monotonic clock,
so a skew between two machines' clocks can neither give two leaders nor none.
Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from kube_runtime.resource import Json, Key

_MICRO_TIME: Final = "%Y-%m-%dT%H:%M:%S.%fZ"
# What a released lease says, as in client-go: valid values, and nobody waits for them.
_RELEASED_SECONDS: Final = 1


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """The spec of a Lease."""

    holder: str = ""
    lease_seconds: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0

    @classmethod
    def parse(cls, lease: Json) -> "LeaseRecord":
        """Read a Lease; what is absent reads as nobody holding it."""
        spec: Mapping[str, Any] = lease.get("spec") or {}
        return cls(
            holder=spec.get("holderIdentity") or "",
            lease_seconds=spec.get("leaseDurationSeconds") or 0,
            acquired=spec.get("acquireTime") or "",
            renewed=spec.get("renewTime") or "",
            transitions=spec.get("leaseTransitions") or 0,
        )

    def held_by(self, identity: str, *, lease_seconds: int, now: datetime) -> "LeaseRecord":
        """Renew the record for its holder, or hand it to a new one."""
        moment = now.astimezone(UTC).strftime(_MICRO_TIME)
        if self.holder == identity:
            return replace(self, lease_seconds=lease_seconds, renewed=moment)
        return LeaseRecord(identity, lease_seconds, moment, moment, self.transitions + 1)

    def released(self, *, now: datetime) -> "LeaseRecord":
        """Let go, so that the next one need not wait."""
        moment = now.astimezone(UTC).strftime(_MICRO_TIME)
        return replace(self, holder="", lease_seconds=_RELEASED_SECONDS, renewed=moment)

    def write_into(self, lease: Json) -> Json:
        """Put the record into a copy of the Lease, with its resourceVersion as precondition."""
        spec = dict(lease.get("spec") or {})
        spec |= {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.lease_seconds,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }
        return lease | {"spec": spec}


def new_lease(key: Key) -> Json:
    """Make a Lease that nobody holds and that the API server does not have yet."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": key.namespace, "name": key.name},
        "spec": {"leaseTransitions": -1},  # the first holder makes it 0
    }


@dataclass(frozen=True, slots=True)
class Observation:
    """The record that was seen last, and since when it has not changed, by our monotonic clock."""

    record: LeaseRecord
    since: float

    def seeing(self, record: LeaseRecord, now: float) -> "Observation":
        """Look again: an unchanged record keeps its age."""
        return self if record == self.record else Observation(record, now)

    def is_free_for(self, identity: str, now: float) -> bool:
        """Tell whether this candidate may take the lease: ours, nobody's, or of a silent holder."""
        if self.record.holder in {"", identity}:
            return True
        return now >= self.since + self.record.lease_seconds
