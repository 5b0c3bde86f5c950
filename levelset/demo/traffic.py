"""A client that keeps requesting a URL and writes down each answer; the demo's witness of a rolling update.

Started as `python -m levelset.demo.traffic URL FILE` in the network namespace of a node, so that every request goes
through kube-proxy as a pod's would. Each request opens a connection of its own, so each is balanced anew. It ends on
SIGTERM. Only the standard library is imported: it must not take the processor from what it measures.
"""

import http.client
import json
import signal
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

_WORKERS = 4
_PAUSE_SECONDS = 0.02
_TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Request:
    """One request: when it began (Unix time), how long it took, who answered or what went wrong."""

    at: float
    seconds: float
    version: str
    pod: str
    error: str


def ask(host: str, path: str) -> Request:
    """Make one request over a new connection."""
    at, began = time.time(), time.monotonic()
    version, pod, error = "", "", ""
    connection = http.client.HTTPConnection(host, timeout=_TIMEOUT_SECONDS)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        words = answer.read(1000).decode(errors="replace").split()
        if answer.status == http.HTTPStatus.OK and len(words) > 1:
            version, pod = words[:2]
        else:
            error = f"HTTP {answer.status}"
    except (OSError, http.client.HTTPException) as found:
        error = f"{type(found).__name__}: {found}"
    finally:
        connection.close()
    seconds = time.monotonic() - began
    return Request(at=at, seconds=seconds, version=version, pod=pod, error=error)


def read_log(path: Path) -> list[Request]:
    """Read what a client wrote down; a last line cut off by its end is left out."""
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [Request(**json.loads(line)) for line in lines]


def main(argv: Sequence[str]) -> int:
    """Request until SIGTERM."""
    url, file = urlsplit(argv[0]), Path(argv[1])
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    lock = threading.Lock()
    with file.open("w", buffering=1) as log:

        def work() -> None:
            while not stopping.wait(_PAUSE_SECONDS):
                line = json.dumps(asdict(ask(url.netloc, url.path or "/")))
                with lock:
                    log.write(f"{line}\n")

        workers = [threading.Thread(target=work) for _ in range(_WORKERS)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
