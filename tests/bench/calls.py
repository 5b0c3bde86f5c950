"""Counts the requests of a contender by the API server's audit log, whoever its user is.

The same yardstick for both: no contender counts its own requests.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from tests.bench.contenders import BUILTIN, OURS

POLICY = f"""\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - level: Metadata
    users: {orjson.dumps([*OURS.users, *BUILTIN.users]).decode()}
  - level: None
"""


@dataclass(frozen=True)
class AuditLog:
    """One API server's audit log."""

    path: Path

    def flags(self) -> list[str]:
        """Write the policy, and say what the API server must be told."""
        policy = self.path.with_name("audit-policy.yaml")
        policy.write_text(POLICY)
        return [f"--audit-log-path={self.path}", f"--audit-policy-file={policy}"]

    def mark(self) -> int:
        """Remember where the log is now."""
        return self.path.stat().st_size if self.path.exists() else 0

    def since(self, mark: int, users: Sequence[str]) -> Counter[str]:
        """Count the requests of these users since then, by resource."""
        with self.path.open("rb") as log:
            log.seek(mark)
            entries = [orjson.loads(line) for line in log.read().splitlines() if line[-1:] == b"}"]
        return Counter(
            (entry.get("objectRef") or {}).get("resource", "")
            for entry in entries
            if entry["user"]["username"] in users
        )
