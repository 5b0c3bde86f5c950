"""Lines of the exposition format, as bytes; pure.

The same lines are valid in text 0.0.4 and in OpenMetrics 1.0, since every state family is a gauge.
"""

from __future__ import annotations

from collections.abc import Iterable

from exporters.catalogue.metric import Metric


def header(metric: Metric) -> bytes:
    """Render HELP and TYPE, which stand once above all lines of a family."""
    return f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.type}\n".encode()


def labels(pairs: Iterable[tuple[str, str]]) -> str:
    """Render label pairs without the braces; names are trusted, values are escaped."""
    return ",".join([f'{name}="{escaped(value)}"' for name, value in pairs])


def escaped(value: str) -> str:
    r"""Escape what the format reserves in a label value: \, newline and the double quote."""
    if "\\" in value or "\n" in value or '"' in value:  # names in Kubernetes have none of them
        return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
    return value


def line(name: str, rendered_labels: str, value: float) -> str:
    """Render one sample."""
    return f"{name}{{{rendered_labels}}} {value}\n"
