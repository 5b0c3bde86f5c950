"""Reads the API server's audit log: who wrote what, when, by the user of each process."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

# What a process without the lease may write: it asks for the lease, and tells what it had done.
_NOT_STATE = frozenset({"leases", "events"})


@dataclass(frozen=True)
class Write:
    """One write, as the API server took it in."""

    user: str
    verb: str
    resource: str
    name: str
    subresource: str
    received: datetime
    code: int
    is_dry_run: bool

    @property
    def is_of_state(self) -> bool:
        """Whether it changes what controllers answer for."""
        return self.resource not in _NOT_STATE and not self.is_dry_run


def writes(log: Path, *, user: str, since: datetime) -> list[Write]:
    """Read the writes of a user that the API server received after a moment."""
    return [write for write in _all(log) if write.user == user and write.received > since]


def _all(log: Path) -> Iterator[Write]:
    for line in log.read_bytes().splitlines():
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue  # the last one is being written
        target = entry.get("objectRef") or {}
        yield Write(
            user=entry["user"]["username"],
            verb=entry["verb"],
            resource=target.get("resource", ""),
            name=target.get("name", ""),
            subresource=target.get("subresource", ""),
            received=datetime.fromisoformat(entry["requestReceivedTimestamp"]),
            is_dry_run="dryRun=" in entry["requestURI"],
            code=(entry.get("responseStatus") or {}).get("code", 0),
        )
