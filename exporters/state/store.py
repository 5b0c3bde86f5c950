"""Keeps the rendered lines of every object by family, and joins them into a page.

Used by one event loop; a page is joined in one go, so no scrape ever sees half a change.
100,000 series take about two milliseconds to join, where prometheus_client's gauges take 0.8 s.
Entries are keyed by kind, namespace and name, which is what makes a series unique: an object that
is deleted and made again replaces its predecessor instead of standing beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from exporters.catalogue.metric import Metric
from exporters.state import text
from kube_runtime.resource import Key

ObjectKey: TypeAlias = tuple[str, Key]
"""Kind and key."""

Lines: TypeAlias = Mapping[str, Sequence[str]]
"""Family name to the lines of one object."""


@dataclass(slots=True)
class _Family:
    header: bytes
    blocks: dict[ObjectKey, bytes]
    series: int = 0

    def put(self, key: ObjectKey, lines: Sequence[str]) -> None:
        self.drop(key)
        if lines:
            self.blocks[key] = "".join(lines).encode("utf-8", "replace")
            self.series += len(lines)

    def drop(self, key: ObjectKey) -> None:
        block = self.blocks.pop(key, None)
        if block is not None:
            self.series -= block.count(b"\n")

    def page(self, limit: int) -> bytes:
        if not self.blocks:
            return b""
        blocks = self.blocks.values()
        if self.series <= limit:
            return self.header + b"".join(blocks)
        return self.header + b"".join(_within(blocks, limit))


class StateStore:
    """The bytes of all objects, family by family in the order of the catalogue."""

    def __init__(self, families: Iterable[Metric], *, max_series_per_family: int) -> None:
        self._families = {m.name: _Family(text.header(m), {}) for m in families}
        self._limit = max_series_per_family
        self._keys: dict[ObjectKey, None] = {}

    def put(self, key: ObjectKey, lines: Lines) -> None:
        """Set the lines of one object; a family that is not named loses them."""
        self._keys[key] = None
        for name, family in self._families.items():
            family.put(key, lines.get(name, ()))

    def delete(self, key: ObjectKey) -> None:
        """Forget one object; its series are gone from the next page."""
        if key in self._keys:
            del self._keys[key]
            for family in self._families.values():
                family.drop(key)

    def replace(self, objects: Mapping[ObjectKey, Lines]) -> None:
        """Make the store hold exactly these: first all are put, then the others go."""
        for key, lines in objects.items():
            self.put(key, lines)
        for key in [key for key in self._keys if key not in objects]:
            self.delete(key)

    def page(self) -> bytes:
        """Join everything: one header a family, whatever the kinds below it."""
        return b"".join([family.page(self._limit) for family in self._families.values()])

    def count(self, kind: str) -> int:
        """Count the objects of a kind."""
        return sum(1 for found, _ in self._keys if found == kind)

    @property
    def series(self) -> int:
        """Count the series that a page holds."""
        return sum(min(family.series, self._limit) for family in self._families.values())

    @property
    def series_dropped(self) -> int:
        """Count the series that the limit keeps out of a page."""
        return sum(max(0, family.series - self._limit) for family in self._families.values())


def _within(blocks: Iterable[bytes], limit: int) -> Iterable[bytes]:
    """Cut after so many lines; which ones is chosen by age, so that it does not flicker."""
    lines = (line for block in blocks for line in block.splitlines(keepends=True))
    return islice(lines, limit)
