"""Log lines for people and for machines: a constant message and key/values.

A caller writes `log.warning("sync failed", extra=fields(object=key, reason=error.reason))`; the
message never changes, so that it can be searched and counted. configure() is called once by
__main__; libraries that log through `logging` come out in the same format.
Text is logfmt-like, JSON is one object a line. No secret is ever passed as a value.
"""

import logging
import sys
from datetime import UTC, datetime
from typing import Any, Final, Literal, TextIO

import orjson

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

_FIELDS: Final = "levelset_fields"
_MAX_VALUE_CHARS: Final = 2000
_MAX_JSON_INT: Final = 2**53  # what every JSON reader holds exactly
# Loud at INFO, of no use to whoever runs a controller.
_QUIET_LIBRARIES: Final = ("aiohttp.access", "asyncio", "kopf", "kubernetes", "urllib3")


def fields(**values: object) -> dict[str, Any]:
    """Make the `extra=` of a log call out of key/values."""
    return {_FIELDS: values}


def configure(format_: LogFormat, level: LogLevel, *, stream: TextIO | None = None) -> None:
    """Send every log line of the process to stderr (or the stream), in this format."""
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(JsonFormatter() if format_ == "json" else TextFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    quiet_level = max(logging.WARNING, root.level)
    for name in _QUIET_LIBRARIES:
        logging.getLogger(name).setLevel(quiet_level)


class TextFormatter(logging.Formatter):
    """`2026-01-01T00:00:00.000Z WARNING kube_runtime.controller sync failed object=ns/web`."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one line, and the trace below it if there is one."""
        parts = [
            _timestamp(record),
            record.levelname,
            record.name,
            _one_line(record.getMessage()),
            *(f"{key}={_logfmt(value)}" for key, value in _fields_of(record).items()),
        ]
        line = " ".join(parts)
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line; the key/values stand beside time, level, logger and msg."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one line, with the trace in it if there is one."""
        entry: dict[str, object] = {key: _plain(v) for key, v in _fields_of(record).items()}
        entry |= {
            "time": _timestamp(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": _utf8(record.getMessage()),
        }
        if record.exc_info:
            entry["trace"] = _utf8(self.formatException(record.exc_info))
        return orjson.dumps(entry, default=str).decode()


def _fields_of(record: logging.LogRecord) -> dict[str, object]:
    found: dict[str, object] = getattr(record, _FIELDS, {})
    return found


def _timestamp(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int) and abs(value) < _MAX_JSON_INT:
        return value
    return _utf8(str(value)[:_MAX_VALUE_CHARS])


def _logfmt(value: object) -> str:
    if value is None:
        return "-"
    text = _utf8(str(value)[:_MAX_VALUE_CHARS])
    needs_quotes = text == "" or any(c in ' "=' or not c.isprintable() for c in text)
    return orjson.dumps(text).decode() if needs_quotes else text


def _utf8(text: str) -> str:
    """Show as escapes what no encoding takes, such as the bytes of a foreign file's name."""
    return text.encode(errors="backslashreplace").decode()


def _one_line(text: str) -> str:
    return _utf8(text).replace("\n", "\\n").replace("\r", "\\r")
