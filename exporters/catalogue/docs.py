"""Writes docs/metrics.md from the catalogue; `python -m exporters.catalogue.docs` prints it.

`--write FILE` rewrites the file; a test compares the committed one with what would be written.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from exporters.catalogue import SECTIONS
from exporters.catalogue.metric import Bounded, Domain, Metric

_PREAMBLE = """\
# Metrics

Generated from `exporters/catalogue/` by `python -m exporters.catalogue.docs --write docs/metrics.md`; a test compares the two.

Each process serves the families of its own part, and those that every process has, at `/metrics`.
The leading exporter adds the state of the custom resources.
Names that do not begin with `levelset_` are those of controller-runtime, workqueue, client-go and
the process collectors, with their labels, so that existing dashboards and rules work.
A label's values are either all listed, or bounded by what is named, or the identity of an object.
Stability: *alpha* may change with any release, *beta* with a note one release ahead, *stable* not.
"""


def document() -> str:
    """Render the whole page."""
    parts = [_PREAMBLE]
    for title, metrics in SECTIONS.items():
        parts.append(f"\n## {title}\n")
        parts.extend(_entry(metric) for metric in metrics)
        if not metrics:
            parts.append("\nNone yet.\n")
    return "".join(parts)


def _entry(metric: Metric) -> str:
    unit = f", {metric.unit}" if metric.unit else ""
    lines = [f"\n### {metric.name}\n\n{metric.help}\n"]
    lines.append(f"\n*{metric.type}{unit}, {metric.stability}*\n")
    if metric.labels:
        lines.append("\n")
    lines.extend(f"- `{label}`: {_domain(domain)}\n" for label, domain in metric.labels.items())
    return "".join(lines)


def _domain(domain: Domain) -> str:
    if isinstance(domain, tuple):
        return ", ".join(f"`{value}`" for value in domain)
    if isinstance(domain, Bounded):
        return f"{domain.by} (at most {domain.at_most})"
    return domain.what


def main(argv: Sequence[str] | None = None) -> int:
    """Print the page, or write it to a file."""
    parser = argparse.ArgumentParser(prog="python -m exporters.catalogue.docs", allow_abbrev=False)
    parser.add_argument("--write", metavar="FILE", type=Path, help="the file to rewrite")
    target: Path | None = parser.parse_args(argv).write
    if target is None:
        sys.stdout.write(document())
    else:
        target.write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
