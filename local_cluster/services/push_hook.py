"""The post-receive hook of every repository on GitServer: tells a receiver about the push, as GitHub would.

git runs it as `python -m local_cluster.services.push_hook SETTINGS` in the bare repository after the refs moved, with
one line "before after ref" each on standard input. The pusher sees the answer as a "remote:" line; a receiver
that is down never fails the push. Only the standard library is imported: it runs inside the pusher's wait.
"""

import hashlib
import hmac
import json
import ssl
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TIMEOUT_SECONDS = 5.0
_NOTHING = "0" * 40


@dataclass(frozen=True, slots=True)
class HookSettings:
    """Where the deliveries go and how they are signed; the file is 0600, since it holds the secret."""

    url: str
    secret: str
    clone_base_url: str
    ca_file: str | None = None


def payload(line: str, *, repository: str, clone_base_url: str) -> dict[str, Any]:
    """Build the push event of one "before after ref" line."""
    before, after, ref = line.split()
    name = repository.removesuffix(".git")
    return {
        "ref": ref,
        "before": before,
        "after": after,
        "created": before.strip("0") == "",
        "deleted": after == _NOTHING or after.strip("0") == "",
        "repository": {
            "name": name.rpartition("/")[2],
            "full_name": name,
            "clone_url": f"{clone_base_url}/{repository}",
        },
    }


def signature(secret: str, body: bytes) -> str:
    """Return the value of X-Hub-Signature-256."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def deliver(settings: HookSettings, event: dict[str, Any]) -> str:
    """Post one event; returns what to tell the pusher."""
    body = json.dumps(event).encode()
    headers = {
        "Content-Type": "application/json",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": str(uuid.uuid4()),
        "X-Hub-Signature-256": signature(settings.secret, body),
    }
    request = urllib.request.Request(settings.url, data=body, headers=headers, method="POST")  # noqa: S310 - our own settings file
    context = ssl.create_default_context(cafile=settings.ca_file) if settings.ca_file else None
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS, context=context) as answer:  # noqa: S310
            return f"webhook: {answer.status}"
    except urllib.error.HTTPError as error:
        return f"webhook: refused with {error.code}"
    except OSError as error:
        return f"webhook: not delivered, {getattr(error, 'reason', error)}"


def main(settings_path: Path, repository: Path, lines: Iterable[str]) -> int:
    """Deliver one event a moved ref; quiet when no webhook is set."""
    if not settings_path.exists():
        return 0
    settings = HookSettings(**json.loads(settings_path.read_text()))
    name = repository.resolve().relative_to(settings_path.resolve().parent / "repositories")
    for line in lines:
        event = payload(line, repository=str(name), clone_base_url=settings.clone_base_url)
        sys.stdout.write(deliver(settings, event) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path.cwd(), sys.stdin))
