"""Cuts a stream of chunks into lines, as a watch delivers its events.

Chunks end anywhere: inside an object, inside a UTF-8 sequence, between two events.
A line that never ended is never handed out, so half an event is never taken for a whole one.
"""

from kube_runtime.errors import BrokenStream

# etcd refuses objects above 1.5 MiB; the JSON of one may be some times larger.
MAX_LINE_BYTES = 16 * 2**20


class LineSplitter:
    """Collects chunks and hands out the lines that are complete."""

    def __init__(self, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._parts: list[bytes] = []  # of the line that has not ended; joined once
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take a chunk and return the lines that it completes; raise BrokenStream when too long."""
        *lines, rest = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join((*self._parts, lines[0]))
            self._parts.clear()
            self._size = 0
        self._parts.append(rest)
        self._size += len(rest)
        if self._size > self._max_line_bytes:
            raise BrokenStream(
                f"watch: expected a line of at most {self._max_line_bytes} bytes, "
                "found a longer one; the objects are listed instead"
            )
        return [line for line in lines if line]

    @property
    def has_rest(self) -> bool:
        """Tell whether a line was begun and not ended."""
        return self._size > 0
