"""Show an Application to a person: a few lines on top, its objects as a table below; pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from kube_runtime.resource import Json, Key

_SHOWN_REVISION: Final = 12
_HEAD: Final = ("KIND", "NAME", "NAMESPACE", "SYNC", "HEALTH")
_WIDE: Final = ("CHANGED", "MESSAGE")


def view(application: Json, *, is_wide: bool) -> str:
    """Return the text for `levelset app get`."""
    return "\n".join([*_facts(application), "", *_table(_rows(application, is_wide=is_wide))])


def _facts(application: Json) -> Iterator[str]:
    spec, status = application["spec"], application.get("status") or {}
    source, sync = spec["source"], status.get("sync") or {}
    health, operation = status.get("health") or {}, status.get("operationState") or {}
    yield f"Application  {Key.of(application)}"
    yield f"Source       {source['repoURL']} {source.get('path', '.')}"
    yield f"Target       {source.get('targetRevision', 'HEAD')} -> {_short(sync.get('revision'))}"
    yield f"Sync         {sync.get('status', 'Unknown')}"
    yield f"Health       {_with_message(health.get('status', 'Unknown'), health.get('message'))}"
    if operation:
        phase = _with_message(operation.get("phase", ""), operation.get("message"))
        yield f"Last sync    {phase}"
    for condition in status.get("conditions") or ():
        if condition["type"] in ("Ready", "Reconciling") and condition["status"] != "False":
            continue
        if condition["type"] == "Ready" and condition["status"] == "True":
            continue
        yield f"{condition['type']:<12} {condition['reason']}: {condition['message']}"


def _rows(application: Json, *, is_wide: bool) -> Iterator[Sequence[str]]:
    yield (*_HEAD, *_WIDE) if is_wide else _HEAD
    for resource in (application.get("status") or {}).get("resources") or ():
        is_extra = resource.get("requiresPruning")
        row = (
            resource["kind"],
            resource["name"],
            resource.get("namespace", ""),
            "to prune" if is_extra else resource.get("status", ""),
            resource.get("health", ""),
        )
        more = (",".join(resource.get("changed") or ()), resource.get("message", ""))
        yield (*row, *more) if is_wide else row


def _table(rows: Iterator[Sequence[str]]) -> list[str]:
    lines = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def _with_message(word: str, message: str | None) -> str:
    return f"{word} ({message})" if message else word


def _short(revision: str | None) -> str:
    return revision[:_SHOWN_REVISION] if revision else "none yet"
