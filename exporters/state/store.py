"""Keeps the rendered lines of every object by family, and joins them into a page.

Used by one event loop; a page is joined in one go, so no scrape ever sees half a change.
100,000 series take a few milliseconds to join, where prometheus_client's gauges take 0.8 s.
Entries are found by kind, namespace and name, which is what makes a series unique: an object that
is deleted and made again replaces its predecessor instead of standing beside it.
A kind is loaded out of sight and shown as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TypeAlias

from exporters.catalogue.metric import Metric
from exporters.state import text
from kube_runtime.resource import Key

Lines: TypeAlias = Mapping[str, Sequence[str]]
"""Family name to the lines of one object."""


class _Blocks:
    """The lines of one kind in one family."""

    def __init__(self) -> None:
        self.by_key: dict[Key, bytes] = {}
        self.series = 0

    def put(self, key: Key, lines: Sequence[str]) -> None:
        self.drop(key)
        if lines:
            self.by_key[key] = "".join(lines).encode("utf-8", "replace")
            self.series += len(lines)

    def drop(self, key: Key) -> None:
        block = self.by_key.pop(key, None)
        if block is not None:
            self.series -= block.count(b"\n")


class StateStore:
    """The bytes of all objects, family by family in the order of the catalogue."""

    def __init__(self, families: Iterable[Metric], *, max_series_per_family: int) -> None:
        self._headers = {metric.name: text.header(metric) for metric in families}
        self._limit = max_series_per_family
        self._kinds: dict[str, dict[str, _Blocks]] = {}
        self._shown: dict[str, None] = {}

    def put(self, kind: str, key: Key, lines: Lines) -> None:
        """Set the lines of one object; a family that is not named loses them."""
        if kind not in self._kinds:
            self._kinds[kind] = {name: _Blocks() for name in self._headers}
        for name, blocks in self._kinds[kind].items():
            blocks.put(key, lines.get(name, ()))

    def delete(self, kind: str, key: Key) -> None:
        """Forget one object; its series are gone from the next page."""
        for blocks in self._kinds.get(kind, {}).values():
            blocks.drop(key)

    def show(self, kind: str) -> None:
        """Take the objects of the kind into the page, those to come as well."""
        self._shown[kind] = None

    def forget(self, kind: str) -> None:
        """Drop all objects of a kind, and hide those to come until it is shown again."""
        self._shown.pop(kind, None)
        self._kinds.pop(kind, None)

    def page(self) -> bytes:
        """Join everything that is shown: one header a family, whatever the kinds below it."""
        return b"".join([self._family(name, header) for name, header in self._headers.items()])

    @property
    def series(self) -> int:
        """Count the series that a page holds."""
        return sum(min(self._series(name), self._limit) for name in self._headers)

    @property
    def series_dropped(self) -> int:
        """Count the series that the limit keeps out of a page."""
        return sum(max(0, self._series(name) - self._limit) for name in self._headers)

    def _family(self, name: str, header: bytes) -> bytes:
        parts = [b"".join(blocks.by_key.values()) for blocks in self._shown_blocks(name)]
        if not any(parts):
            return b""
        if self._series(name) > self._limit:
            parts = _within(parts, self._limit)
        return b"".join((header, *parts))

    def _series(self, name: str) -> int:
        return sum(blocks.series for blocks in self._shown_blocks(name))

    def _shown_blocks(self, name: str) -> list[_Blocks]:
        return [self._kinds[kind][name] for kind in self._shown if kind in self._kinds]


def _within(parts: Sequence[bytes], limit: int) -> list[bytes]:
    """Cut after so many lines; the oldest stay, so that the choice does not flicker."""
    lines = (line + b"\n" for part in parts for line in part.split(b"\n") if line)
    return list(islice(lines, limit))
