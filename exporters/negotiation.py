"""Which of our two formats a scraper gets, and whether compressed; pure.

prometheus_client 0.26 echoes any version it is asked for (9.9.9 is answered as 9.9.9) and ignores
q-values; a scraper that asks for a format of the future would be lied to. Here only text 0.0.4 and
OpenMetrics 1.0.0 exist, and whoever accepts neither gets the older one, as exporters always did.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Format: TypeAlias = Literal["text", "openmetrics"]
"""Text 0.0.4 or OpenMetrics 1.0.0; nothing else is spoken."""

CONTENT_TYPES: Final[Mapping[Format, str]] = {
    "text": "text/plain; version=0.0.4; charset=utf-8",
    "openmetrics": "application/openmetrics-text; version=1.0.0; charset=utf-8",
}
_VERSIONS: Final = {"text": ("", "0.0.4"), "openmetrics": ("", "1.0.0")}
_MEDIA: Final[Mapping[str, Format]] = {
    "application/openmetrics-text": "openmetrics",
    "application/*": "openmetrics",
    "text/plain": "text",
    "text/*": "text",
    "*/*": "text",
}
_MAX_HEADER = 4096


@dataclass(frozen=True, slots=True)
class _Range:
    media: str
    parameters: Mapping[str, str]
    quality: float


def choose_format(accept: str) -> Format:
    """Choose the format with the highest q; text where the header says nothing we speak."""
    best: Format = "text"
    best_quality = 0.0
    for wanted in _ranges(accept):
        form = _MEDIA.get(wanted.media)
        if form is None or wanted.parameters.get("version", "") not in _VERSIONS[form]:
            continue
        if wanted.quality > best_quality:
            best, best_quality = form, wanted.quality
    return best


def accepts_gzip(accept_encoding: str) -> bool:
    """Tell whether the scraper takes gzip."""
    qualities = {wanted.media: wanted.quality for wanted in _ranges(accept_encoding)}
    return qualities.get("gzip", qualities.get("*", 0.0)) > 0


def _ranges(header: str) -> Iterator[_Range]:
    for part in header[:_MAX_HEADER].lower().split(","):
        media, *rest = (piece.strip() for piece in part.split(";"))
        if not media:
            continue
        pairs = (piece.partition("=") for piece in rest)
        parameters = {name.strip(): value.strip(' "') for name, _, value in pairs}
        yield _Range(media, parameters, _quality(parameters.pop("q", "1")))


def _quality(text: str) -> float:
    try:
        quality = float(text)
    except ValueError:
        return 0.0
    return quality if 0.0 <= quality <= 1.0 else 0.0
